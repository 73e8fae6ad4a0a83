"""Stability from the rows: planted answers, and pandas as the oracle of every sum."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headscope as hs
from headscope.errors import RunError, SettingsError
from headscope.findings.resampling.weighted_sums import weighted_sums
from headscope.findings.stability import domain_of, stability
from headscope.findings.stability.reliability import spearman_brown
from headscope.findings.stability.window_groups import (
    labelled_groups,
    permuted_groups,
    random_halves,
    random_subsets,
)
from headscope.measures import MEASURES
from headscope.text.demo import read_demo

LAYERS, HEADS = 8, 16
KEYS = ["stack", "layer", "head"]


@pytest.fixture(scope="module")
def labelled_run(demo_model, tmp_path_factory):
    """Nine documents of two labels or none, most of them of several windows, in several shards."""
    folder = tmp_path_factory.mktemp("labelled")
    documents = [document for document in read_demo() if len(document.text.split()) > 90][:9]
    with (folder / "corpus.jsonl").open("w") as file:
        for number, document in enumerate(documents):
            text = " ".join(document.text.split()[: 30 + 8 * number])
            label = [None, "odd", "even", "odd", "even"][number % 5]
            file.write(json.dumps({"text": text, "id": f"d{number}", "kind": label}) + "\n")
    return hs.analyze(
        demo_model,
        folder / "corpus.jsonl",
        out=folder / "run",
        window=32,
        layers=[1, 6],
        shard_windows=7,
        id_column="id",
        label_column="kind",
        nulls=2,
        null_seeds=2,
        report=False,
        progress=False,
    )


@pytest.fixture(scope="module")
def found(labelled_run):
    """What its windows tell when nothing else is asked for."""
    return labelled_run.stability()


def rows_and_windows(run: hs.Run) -> tuple[pd.DataFrame, pd.DataFrame]:
    texts = run.windows().to_table(columns=["document", "label"]).to_pandas()
    return run.rows().to_table().to_pandas(), texts


def planted(documents, labels, **columns) -> tuple[ds.Dataset, ds.Dataset]:
    """Rows and windows of a run in which all columns are 1, but for those given: (window, head)."""
    texts, heads = len(documents), LAYERS * HEADS
    names = {m.numerator for m in MEASURES} | {m.denominator for m in MEASURES}
    names |= {m.expected for m in MEASURES if m.expected}
    table = {
        "text": np.repeat(np.arange(texts), heads),
        "stack": ["encoder"] * (texts * heads),
        "layer": np.tile(np.repeat(np.arange(1, LAYERS + 1), HEADS), texts),
        "head": np.tile(np.arange(1, HEADS + 1), texts * LAYERS),
    }
    for name in sorted(names):
        table[name] = np.asarray(columns.get(name, np.ones((texts, heads)))).ravel()
    windows = pa.table({"document": list(documents), "label": pa.array(labels, pa.string())})
    return ds.dataset(pa.table(table)), ds.dataset(windows)


def test_weighted_sums_equal_sums_by_pandas(labelled_run):
    rows, texts = rows_and_windows(labelled_run)
    weights = np.random.default_rng(0).integers(0, 3, (4, len(texts)))
    found = weighted_sums(labelled_run.rows(), ["pairs", "same_sentence_expected"], weights)
    for choice, weight in enumerate(weights):
        for column, sums in found.sums.items():
            weighted = (rows[column] * weight[rows["text"]]).groupby([rows[key] for key in KEYS])
            np.testing.assert_allclose(sums[choice], weighted.sum())
    expected = rows[KEYS].drop_duplicates().sort_values(KEYS)
    assert found.heads.to_numpy().tolist() == expected.to_numpy().tolist()


def test_domains_are_what_the_rows_of_their_texts_give(labelled_run, found):
    rows, texts = rows_and_windows(labelled_run)
    domains = found.domains
    assert domains.texts == texts["label"].value_counts().to_dict()
    for label, heads in domains.heads.groupby("group"):
        mine = rows[rows["text"].map(texts["label"]) == label]
        sums = mine.groupby(KEYS)[["distance_sum", "pairs", "separator_attention", "texts"]].sum()
        np.testing.assert_allclose(heads["mean_distance"], sums["distance_sum"] / sums["pairs"])
        np.testing.assert_allclose(
            heads["separator_attention"], sums["separator_attention"] / sums["texts"], rtol=1e-6
        )
        distinct = mine.groupby(["layer", "text"])["focal_token"].nunique()
        layers = domains.layers[domains.layers["group"] == label].set_index("layer")
        np.testing.assert_allclose(
            layers["distinct_focal_tokens"], distinct.groupby("layer").mean()
        )


def test_subsets_add_up_to_the_run(labelled_run, found):
    """Two halves hold every window once, so that their counts are those of the run."""
    subsets = found.subsets
    assert list(subsets.texts) == ["subset 1", "subset 2"]
    assert sum(subsets.texts.values()) == labelled_run.manifest.corpus.windows
    together = subsets.heads.groupby(KEYS)[["texts", "pairs"]].sum().reset_index()
    pd.testing.assert_frame_equal(together, labelled_run.heads[[*KEYS, "texts", "pairs"]])


def test_agreement_is_that_of_the_tables_beside_it(labelled_run):
    result = labelled_run.stability(subsets=3)
    one, two, three = (heads for _, heads in result.subsets.heads.groupby("group"))
    pairs = [(one, two), (one, three), (two, three)]
    row = result.subsets.agreement.set_index("measure").loc["same_sentence_excess"]

    def excess(heads):
        return (heads["same_sentence"] - heads["same_sentence_expected"]).reset_index(drop=True)

    ranks = [excess(a).corr(excess(b), method="spearman") for a, b in pairs]
    assert row["rank_correlation"] == pytest.approx(np.mean(ranks))
    assert row["lowest"] == pytest.approx(min(ranks))
    gaps = [(excess(a) - excess(b)).abs().mean() for a, b in pairs]
    assert row["difference"] == pytest.approx(np.mean(gaps))


documents_of_windows = st.lists(st.integers(0, 6), min_size=2, max_size=60).map(
    lambda ids: np.unique(ids, return_inverse=True)[1].astype(np.int64)
)


@given(documents_of_windows, st.integers(1, 40), st.integers(2, 4), st.integers(0, 99))
def test_subsets_are_disjoint_and_keep_documents_whole(document, texts, subsets, seed):
    lengths = np.bincount(document)
    subsets = min(subsets, len(lengths))
    member = random_subsets(document, texts, subsets, np.random.default_rng(seed)).member
    assert (member.sum(axis=0) <= 1).all()
    for number in range(len(lengths)):
        of_document = member[:, document == number]
        assert (of_document.all(axis=1) == of_document.any(axis=1)).all()
    sizes = member.sum(axis=1)
    assert (sizes > 0).all()
    assert (sizes < texts + lengths.max()).all(), "too large by part of a document at most"


@given(documents_of_windows, st.integers(0, 99))
def test_halves_hold_every_text_once_and_keep_documents_whole(document, seed):
    lengths = np.bincount(document)
    if len(lengths) < 2:
        return
    for half, other in random_halves(document, 5, np.random.default_rng(seed)):
        assert (half ^ other).all()
        assert half.any()
        assert other.any()
        assert not set(document[half]) & set(document[other])
        assert abs(int(half.sum()) - int(other.sum())) <= lengths.max()


def test_permuted_labels_keep_documents_whole_and_their_number():
    document = np.repeat(np.arange(6), [1, 2, 3, 1, 2, 3])
    groups = labelled_groups([["a", "b", None][number % 3] for number in document], 9)
    member = permuted_groups(groups, document, np.random.default_rng(0))
    assert (member.sum(axis=0) == groups.member.sum(axis=0)).all(), "no label stays no label"
    for group in member:
        assert len(set(document[group])) == 2
        assert np.isin(document, list(set(document[group]))).tolist() == group.tolist()


def test_reliability_is_that_of_the_plan():
    """Heads differ by 1, windows add noise: of n windows, reliability is 1 / (1 + noise**2 / n)."""
    rng = np.random.default_rng(5)
    texts, heads = 80, LAYERS * HEADS
    true = rng.normal(size=heads)

    def noisy(noise):
        return true + noise * rng.normal(size=(texts, heads))

    rows, windows = planted(
        range(texts),
        [None] * texts,
        separator_attention=noisy(0.01),
        special_attention=noisy(math.sqrt(texts)),
        first_attention=rng.normal(size=(texts, heads)),
    )
    found = stability(rows, windows).reliability.set_index("measure")
    assert found.loc["separator_attention", "reliability"] == pytest.approx(1, abs=1e-3)
    assert found.loc["special_attention", "reliability"] == pytest.approx(0.5, abs=0.12)
    assert found.loc["first_attention", "reliability"] == pytest.approx(0, abs=0.15)
    row = found.loc["special_attention"]
    assert row["low"] < row["reliability"] < row["high"]
    assert row["splits"] == 100
    assert np.isnan(found.loc["mean_distance", "reliability"]), "the same in every head"


def test_windows_of_one_document_are_no_evidence_of_their_own():
    """Noise that all windows of a document share does not average out over its windows."""
    rng = np.random.default_rng(6)
    heads = LAYERS * HEADS
    per_document = rng.normal(size=(8, heads))
    rows, windows = planted(
        np.repeat(np.arange(8), 20), [None] * 160, norm=np.repeat(per_document, 20, axis=0)
    )
    found = stability(rows, windows).reliability.set_index("measure").loc["norm", "reliability"]
    assert abs(found) < 0.3
    as_if_independent = ds.dataset(
        pa.table({"document": list(range(160)), "label": pa.nulls(160, pa.string())})
    )
    wrong = stability(rows, as_if_independent).reliability.set_index("measure")
    assert wrong.loc["norm", "reliability"] > 0.8


@pytest.mark.parametrize(("halves", "whole"), [(1.0, 1), (0.5, 2 / 3), (0.0, 0), (-0.5, -2 / 3)])
def test_spearman_and_browns_formula(halves, whole):
    assert spearman_brown(halves) == pytest.approx(whole)


def test_a_domain_that_differs_stands_out_from_chance():
    rng = np.random.default_rng(7)
    labels = ["news"] * 20 + ["email"] * 20
    noise = rng.normal(size=(40, LAYERS * HEADS))
    shifted = noise + 3 * (np.arange(40) < 20)[:, None]
    rows, windows = planted(range(40), labels, norm=shifted, special_attention=noise)
    agreement = stability(rows, windows).domains.agreement.set_index("measure")
    norm, special = agreement.loc["norm"], agreement.loc["special_attention"]
    assert norm["difference"] == pytest.approx(3, abs=0.3)
    assert norm["difference"] > 3 * norm["difference_by_chance"]
    assert special["difference"] == pytest.approx(special["difference_by_chance"], rel=0.3)


def test_a_head_that_changes_its_role_between_domains_is_seen():
    labels = ["news"] * 4 + ["email"] * 4
    norm = np.ones((8, LAYERS * HEADS))
    norm[4:, 0] = 100

    def roles_of(heads):
        return heads[KEYS].assign(role=np.where(heads["norm"] > 90, "loud", "quiet"))

    roles = stability(*planted(range(8), labels, norm=norm), roles_of=roles_of).domains.roles
    assert roles["kept"].tolist() == [0.5] + [1.0] * (LAYERS * HEADS - 1)
    assert set(roles["role"]) == {"quiet"}


def test_roles_come_from_the_runs_own_rules(labelled_run, found):
    roles = found.subsets.roles
    pd.testing.assert_series_equal(roles["role"], labelled_run.roles["role"])
    assert roles["kept"].isin([0, 0.5, 1]).all()
    assert roles["kept"].mean() > 0.3


def test_subsets_have_the_size_asked_for():
    rows, windows = planted(range(100), [None] * 100)
    assert list(stability(rows, windows, subset=30).subsets.texts.values()) == [30, 30, 30]
    assert list(stability(rows, windows, subset=30, subsets=2).subsets.texts.values()) == [30, 30]
    assert list(stability(rows, windows, subset=5000).subsets.texts.values()) == [50, 50]
    assert len(stability(rows, windows, subset=2).subsets.texts) == 20


def test_the_seed_decides_and_nothing_else(labelled_run, found):
    one, again = (labelled_run.stability(seed=1) for _ in range(2))
    pd.testing.assert_frame_equal(one.subsets.heads, again.subsets.heads)
    pd.testing.assert_frame_equal(one.reliability, again.reliability)
    assert not one.subsets.heads.equals(found.subsets.heads)
    by_document = labelled_run.stability(seed=1, by="document")
    pd.testing.assert_frame_equal(one.reliability, by_document.reliability)
    assert set(by_document.domains.texts) == {f"d{number}" for number in range(9)}


@pytest.mark.parametrize(
    ("documents", "labels", "says"),
    [
        (["a"], [None], "the run has one window"),
        (["a", "a"], [None, None], "the run has one document"),
        (["a", "b"], [None, None], "no window has one"),
        (["a", "b"], ["news", "news"], "all have 'news'"),
        (["a", "b"], ["news", "email"], "cannot be told apart"),
    ],
)
def test_what_the_texts_cannot_tell_is_said(documents, labels, says):
    result = stability(*planted(documents, labels))
    assert any(says in sentence for sentence in result.unanswered)
    assert (result.subsets is None) == (len(set(documents)) < 2)
    assert (result.reliability is None) == (len(set(documents)) < 2)
    assert (result.domains is None) == (len(set(labels)) < 2)
    if result.domains is not None:
        assert result.domains.agreement["difference_by_chance"].isna().all()


def test_a_measure_without_values_is_named_and_has_no_number(found):
    assert "lemma_repetition (encoder): no head has a value in these windows" in found.unanswered
    for table in (found.subsets.agreement, found.reliability, found.domains.agreement):
        row = table.set_index("measure").loc["lemma_repetition"]
        row = row.drop(["stack", "splits"], errors="ignore")
        assert row.isna().all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"subset": 0}, "subset"),
        ({"subsets": 1}, "compare at least two"),
        ({"seed": -1}, "seed"),
    ],
)
def test_senseless_options_are_refused(labelled_run, options, says):
    with pytest.raises(SettingsError, match=says):
        labelled_run.stability(**options)


def test_a_domain_is_a_label_or_a_document():
    assert domain_of("document") == "document"
    with pytest.raises(SettingsError, match="choose one of label, document"):
        domain_of("colour")


def test_more_subsets_than_documents_are_fewer_and_said(labelled_run):
    result = labelled_run.stability(subsets=30)
    assert len(result.subsets.texts) == 9
    assert any("9 documents" in sentence for sentence in result.unanswered)


def test_an_unfinished_run_says_how_to_finish_it(labelled_run, tmp_path):
    labelled_run.manifest.write(tmp_path)
    with pytest.raises(RunError, match="not finished"):
        hs.open_run(tmp_path).stability()
