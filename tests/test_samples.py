"""Runs over a sample of their corpus, and over copies of a text."""

import io
import json
import shutil
import sys

import pytest

import headscope as hs
from headscope.compare.shared_documents import shared_documents
from headscope.errors import RunError
from tests.compare.tiny_bert import TEXTS, loaded, tiny_bert
from tests.sample_corpora import (
    DOCUMENTS,
    all_places,
    places,
    words,
    write,
    write_copied,
    write_labelled,
)

WINDOW = {"window": 16, "min_tokens": 4}
QUICK = {
    **WINDOW,
    "shard_windows": 5,
    "nulls": 0,
    "permutations": 2,
    "report": False,
    "progress": False,
}
LABELLED = {"id_column": "id", "label_column": "genre"}


@pytest.fixture(scope="module")
def model():
    return loaded(tiny_bert())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_labelled(tmp_path_factory.mktemp("corpus") / "corpus.jsonl")


@pytest.fixture(scope="module")
def every_window(corpus):
    return all_places(corpus)


@pytest.fixture(scope="module")
def sampled(model, corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("sampled") / "run"
    return hs.analyze(model, corpus, out=out, texts=18, **QUICK, **LABELLED)


def test_a_sample_is_some_windows_of_the_whole_corpus_in_its_order(sampled, every_window):
    found = places(sampled)
    assert len(found) == 18
    assert found == [window for window in every_window if window in found]
    with_windows = {document for document, _ in every_window}
    assert len({document for document, _ in found}) == min(18, len(with_windows))
    assert found != every_window[:18]


def test_a_limit_that_is_not_reached_changes_nothing(model, corpus, every_window, tmp_path):
    limited = hs.analyze(model, corpus, out=tmp_path / "a", texts=10_000, **QUICK, **LABELLED)
    whole = hs.analyze(model, corpus, out=tmp_path / "b", **QUICK, **LABELLED)
    assert places(limited) == places(whole) == every_window
    assert limited.manifest.corpus.window_hashes == whole.manifest.corpus.window_hashes
    assert limited.manifest.corpus.hash == whole.manifest.corpus.hash
    for run in (limited, whole):
        assert (run.manifest.corpus.sample, run.manifest.corpus.windows_available) == (
            "all",
            len(every_window),
        )


def test_first_takes_the_first_windows_and_reads_no_further(model, every_window, corpus, tmp_path):
    start = corpus.read_text().splitlines()
    broken = tmp_path / "broken.jsonl"
    broken.write_text("\n".join([*start[:20], "{damaged"]) + "\n")
    asked = {"out": tmp_path / "run", "texts": 6, "first": True, **QUICK, **LABELLED}
    run = hs.analyze(model, broken, **asked)
    assert places(run) == every_window[:6]
    record = run.manifest.corpus
    assert (record.sample, record.windows_available) == ("first", None)
    assert record.documents < 20
    assert record.documents_sampled == len({document for document, _ in every_window[:6]})
    again = hs.analyze(model, broken, **asked)
    assert again.manifest == run.manifest


def test_the_manifest_says_what_was_drawn_from_what(sampled, every_window):
    record = hs.open_run(sampled.folder).manifest.corpus
    assert record.sample == "random"
    assert record.documents == DOCUMENTS
    assert record.texts_asked == record.windows == 18
    sampled_documents = {document for document, _ in places(sampled)}
    assert record.documents_sampled == len(sampled_documents)
    with_windows = {document for document, _ in every_window}
    known = len(with_windows) <= 18
    assert record.windows_available == (len(every_window) if known else None)
    assert (record.duplicates, record.duplicates_sampled) == (0, 0)


def test_a_resumed_sample_equals_an_uninterrupted_one(model, corpus, sampled, tmp_path):
    """Windows, a shard and the results are gone: the same sample is drawn again."""
    shutil.copytree(sampled.folder, tmp_path / "run")
    for name in ("windows/00001.parquet", "shards/00001.json", "results.nc", "results.json"):
        (tmp_path / "run" / name).unlink()
    asked = {"texts": 18, **QUICK, **LABELLED}
    again = hs.analyze(model, corpus, out=tmp_path / "run", **asked)
    assert again.manifest == sampled.manifest
    assert again.rows().to_table().equals(sampled.rows().to_table())
    for name, array in sampled.arrays.variables.items():
        assert array.values.tobytes() == again.arrays[name].values.tobytes(), name


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"seed": 1}, "seed"),
        ({"first": True}, "texts: random / first"),
        ({"keep_duplicates": True}, "keep_duplicates"),
    ],
)
def test_another_sample_is_another_run(model, corpus, sampled, changed, named):
    with pytest.raises(RunError, match=f"holds another run.*{named}"):
        hs.analyze(model, corpus, out=sampled.folder, texts=18, **QUICK, **LABELLED, **changed)


@pytest.mark.parametrize("texts", [None, 18])
def test_a_corpus_that_has_grown_is_another_corpus(model, corpus, tmp_path, texts):
    grown = tmp_path / "corpus.jsonl"
    shutil.copyfile(corpus, grown)
    asked = {"out": tmp_path / "run", "texts": texts, **QUICK, **LABELLED}
    hs.analyze(model, grown, **asked)
    with grown.open("a") as file:
        file.write(json.dumps({"text": words(2), "id": "new", "genre": "a"}) + "\n")
    with pytest.raises(RunError, match=r"holds another run.*corpus"):
        hs.analyze(model, grown, **asked)


def test_standard_input_is_sampled_as_it_streams(model, monkeypatch, tmp_path):
    text = " ".join(words(place) for place in range(20))
    stream = io.TextIOWrapper(io.BytesIO(text.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    run = hs.analyze(model, "-", out=tmp_path / "run", texts=7, **QUICK)
    record = run.manifest.corpus
    assert (record.sample, record.windows, record.documents) == ("random", 7, 1)
    assert record.windows_available > 7
    starts = [window_starts[1] for _, window_starts in places(run)]
    assert starts == sorted(starts)
    assert starts[-1] > len(text) / 3, "not only the beginning"


def test_samples_of_different_corpora_can_be_merged(model, sampled, tmp_path):
    rows = [{"text": f"other {words(place)} cats", "id": f"e{place}"} for place in range(9)]
    other = hs.analyze(
        model, write(tmp_path / "b.jsonl", rows), out=tmp_path / "b", id_column="id", **QUICK
    )
    merged = hs.merge([sampled.folder, other.folder], tmp_path / "merged", report=False)
    one, two, both = (run.manifest.corpus for run in (sampled, other, merged))
    assert both.sample == "random"
    assert both.documents == one.documents + two.documents
    assert both.documents_sampled == one.documents_sampled + two.documents_sampled
    assert hs.open_run(merged.folder).manifest == merged.manifest


def test_a_comparison_says_that_samples_differ(model, corpus, sampled, tmp_path):
    asked = {"texts": 18, "seed": 1, **QUICK, **LABELLED}
    other = hs.analyze(model, corpus, out=tmp_path / "other", **asked)
    remarks = "\n".join(hs.compare([sampled, other]).remarks)
    assert "drawn at random from 30 documents" in remarks
    assert "another sample of the same corpus" in remarks
    ours, theirs = shared_documents([sampled, other])
    ids = [{document for document, _ in places(run)} for run in (sampled, other)]
    assert ours.shared(theirs) == len(ids[0] & ids[1])


# Copies


def test_a_text_that_is_there_200_times_is_one_document(model, tmp_path):
    rows = [{"text": TEXTS[2]} for _ in range(200)]
    corpus = write(tmp_path / "corpus.jsonl", rows)
    run = hs.analyze(model, corpus, out=tmp_path / "run", **QUICK)
    table = run.findings.window_table("encoder", ["pairs"])
    assert table.windows >= 200
    assert table.documents == 1
    assert set(table.document.tolist()) == {0}
    assert run.stability().documents == 1
    assert shared_documents([run])[0].size == 1
    record = run.manifest.corpus
    assert (record.duplicates, record.duplicates_sampled) == (199, 199)


def test_kept_duplicates_are_documents_of_their_own(model, tmp_path):
    corpus = write_copied(tmp_path / "corpus.jsonl", 8)
    once = hs.analyze(model, corpus, out=tmp_path / "once", **QUICK)
    kept = hs.analyze(model, corpus, out=tmp_path / "kept", keep_duplicates=True, **QUICK)
    assert kept.manifest.settings.keep_duplicates
    assert kept.manifest.corpus.duplicates == once.manifest.corpus.duplicates == 7
    counted = [run.findings.window_table("encoder", ["pairs"]).documents for run in (once, kept)]
    assert counted == [3, 10], "a text with another end is no copy"
    assert kept.rows().to_table().equals(once.rows().to_table())


def test_the_untrained_model_knows_the_copies_too(model, tmp_path):
    asked = QUICK | {"nulls": 6}
    run = hs.analyze(
        model, write_copied(tmp_path / "corpus.jsonl", 30), out=tmp_path / "run", **asked
    )
    (null, *_) = run.untrained
    ids = null.windows().to_table(columns=["document"])["document"].to_pylist()
    assert null.findings.window_table("encoder", ["pairs"]).documents < len(set(ids))


def test_copies_in_another_run_are_found_after_a_merge(model, tmp_path):
    runs = []
    for name in ("a", "b"):
        rows = [{"text": TEXTS[2], "id": name}, {"text": f"{TEXTS[1]} {name}", "id": f"{name}2"}]
        corpus = write(tmp_path / f"{name}.jsonl", rows)
        runs.append(hs.analyze(model, corpus, out=tmp_path / name, id_column="id", **QUICK))
    merged = hs.merge([run.folder for run in runs], tmp_path / "merged", report=False)
    assert merged.findings.window_table("encoder", ["pairs"]).documents == 3
