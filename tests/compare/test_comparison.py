"""Runs side by side: values against SQL over the shards, differences, references, remarks."""

import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import headscope as hs
from headscope.compare.quantities import QUANTITIES
from headscope.compare.shared_documents import shared_documents
from headscope.errors import RunError, SettingsError
from headscope.findings.depth import layers_by_third
from headscope.findings.resampling.resampled_run import interval_of, resample_columns
from headscope.measuring.reduce import reduce_run
from headscope.run import Run
from headscope.runs.folder import RunFolder
from headscope.runs.shards import Shard

SQL = {
    "mean_distance": "sum(distance_sum) / sum(pairs)",
    "same_sentence_excess": "sum(same_sentence_pairs - same_sentence_expected) / sum(pairs)",
    "repetition_excess": "sum(repetition_pairs - repetition_expected) / sum(pairs)",
    "separator_attention": "avg(separator_attention)",
    "distinct_focal_share": "sum(focal_exclusiveness) / sum(focal_texts)",
    "block_contrast": "sum(block_contrast) / sum(block_contrast_texts)",
}


@pytest.fixture(scope="module")
def layers_run(kept_run) -> hs.Run:
    """Another window, and three layers only."""
    asked = {"texts": 12, "window": 48, "layers": [1, 4, 6], "nulls": 0}
    return kept_run("three-layers", report=False, **asked)


@pytest.fixture(scope="module")
def book_run(demo_model, tmp_path_factory) -> hs.Run:
    """One document of several windows."""
    folder = tmp_path_factory.mktemp("book")
    corpus = folder / "book.txt"
    corpus.write_text("A sentence about one thing. Another one about the same thing! " * 30)
    return hs.analyze(
        demo_model,
        corpus,
        window=32,
        layers=[1],
        nulls=0,
        out=folder / "run",
        report=False,
        progress=False,
    )


@pytest.fixture(scope="module")
def null_run(kept_run) -> hs.Run:
    """With its untrained models."""
    return kept_run("untrained", texts=6, nulls=3, null_seeds=3, report=False)


@pytest.fixture(scope="module")
def with_untrained(null_run) -> hs.Comparison:
    return hs.compare([null_run], untrained=True)


def test_thirds_equal_sums_over_their_layers(null_run, with_untrained):
    shards = str(null_run.folder / "shards" / "*.parquet")
    trained = with_untrained.thirds[with_untrained.thirds["seeds"] == 0]
    for third, layers in {"first": (1, 2), "middle": (3, 4), "last": (5, 6)}.items():
        columns = ", ".join(f"{formula} as {name}" for name, formula in SQL.items())
        row = duckdb.sql(f"select {columns} from '{shards}' where layer in {layers}").df().iloc[0]
        found = trained[trained["third"] == third].set_index("quantity")["value"]
        for name in SQL:
            assert found[name] == pytest.approx(row[name], rel=1e-6), (third, name)


def test_curves_equal_the_layer_table(null_run, with_untrained):
    curves = with_untrained.curves
    trained = curves[(curves["seeds"] == 0) & (curves["quantity"] == "mean_distance")]
    np.testing.assert_allclose(trained["value"], null_run.layers["mean_distance"])
    np.testing.assert_allclose(trained["depth"], np.arange(1, 7) / 6)
    focal = curves[(curves["seeds"] == 0) & (curves["quantity"] == "distinct_focal_share")]
    np.testing.assert_allclose(focal["value"], null_run.layers["distinct_focal_tokens"] / 12)


def test_intervals_surround_their_values(with_untrained):
    thirds = with_untrained.thirds
    assert (thirds["low"] <= thirds["value"]).all()
    assert (thirds["value"] <= thirds["high"]).all()
    assert (thirds["low"] < thirds["high"]).all()


def test_untrained_models_are_taken_together_and_compared_with_their_run(null_run, with_untrained):
    untrained = with_untrained.thirds[with_untrained.thirds["seeds"] > 0]
    assert (untrained["seeds"] == 3).all()
    assert (untrained["reference"] == "demo").all()
    distance = untrained.set_index(["quantity", "third"]).loc[("mean_distance", "first")]
    pooled = pd.concat([null.heads for null in null_run.untrained])
    pooled = pooled[pooled["layer"] <= 2]
    expected = np.average(pooled["mean_distance"], weights=pooled["pairs"])
    assert distance["value"] == pytest.approx(expected)
    trained = with_untrained.thirds.set_index(["seeds", "quantity", "third"])["value"]
    assert distance["difference"] == pytest.approx(
        expected - trained[(0, "mean_distance", "first")]
    )


def test_a_run_does_not_differ_from_itself(demo_run):
    thirds = hs.compare([demo_run, demo_run]).thirds
    second = thirds[thirds["reference"].notna()]
    assert len(second) == 3 * len(QUANTITIES)
    assert (second[["difference", "difference_low", "difference_high"]] == 0).all(axis=None)


def test_equal_seeds_give_equal_comparisons(null_run, with_untrained):
    again = hs.compare([null_run.folder], untrained=True)
    pd.testing.assert_frame_equal(again.thirds, with_untrained.thirds)
    other = hs.compare([null_run], untrained=True, seed=5).thirds
    assert (other["value"] == with_untrained.thirds["value"]).all()


def test_what_differs_is_remarked(demo_run, layers_run):
    comparison = hs.compare([demo_run, layers_run])
    remarks = "\n".join(comparison.remarks)
    assert "windows of 48 tokens, where" in remarks
    assert "only layers 1, 4, 6 were measured" in remarks
    assert "corpus" not in remarks
    assert "tokenizer" not in remarks
    assert "documents are too few" in remarks


def test_another_corpus_is_remarked(demo_run, book_run):
    remarks = "\n".join(hs.compare([demo_run, book_run]).remarks)
    assert "another corpus" in remarks


def test_runs_share_documents_by_name(demo_run, layers_run):
    ours, theirs = shared_documents([demo_run, layers_run])
    names = [
        set(run.windows().to_table(columns=["document"])["document"].to_pylist())
        for run in (demo_run, layers_run)
    ]
    assert ours.group == theirs.group
    assert ours.size == len(names[0] | names[1])
    assert ours.shared(theirs) == len(names[0] & names[1])


def test_windows_of_one_document_are_drawn_themselves(book_run):
    (units,) = shared_documents([book_run])
    assert units.size == book_run.manifest.corpus.windows > 5


def test_an_absent_stack_is_compared_with_the_first(demo_run, tmp_path):
    """A decoder beside an encoder: with the encoder, since that run has nothing else."""
    causal = renamed(demo_run, "decoder", tmp_path / "run")
    thirds = hs.compare([demo_run, causal]).thirds
    decoder = thirds[thirds["stack"] == "decoder"]
    assert (decoder["reference"] == thirds["name"].iloc[0]).all()


def test_runs_without_steps_count_in_order(demo_run):
    comparison = hs.compare([demo_run, demo_run], steps=True)
    assert comparison.steps == (1, 2)
    assert any("order given" in remark for remark in comparison.remarks)
    assert hs.compare([demo_run, demo_run], steps=[0, 70]).steps == (0, 70)
    with pytest.raises(SettingsError, match="3 steps for 2 runs"):
        hs.compare([demo_run, demo_run], steps=[1, 2, 3])


def test_one_run_alone_or_an_unfinished_one_is_refused(demo_run, book_run, tmp_path):
    with pytest.raises(SettingsError, match="two runs"):
        hs.compare([demo_run])
    with pytest.raises(SettingsError, match="no untrained model"):
        hs.compare([book_run], untrained=True)
    demo_run.manifest.write(tmp_path)
    with pytest.raises(RunError, match="not finished"):
        hs.compare([demo_run, tmp_path])


@pytest.mark.parametrize(
    ("layers", "sizes"), [(1, (0, 1, 0)), (2, (1, 0, 1)), (4, (1, 2, 1)), (12, (4, 4, 4))]
)
def test_thirds_are_symmetric(layers, sizes):
    thirds = layers_by_third(range(1, layers + 1), layers)
    assert tuple(len(places) for places in thirds.values()) == sizes


def test_intervals_of_differences_cover():
    """Two models with equal means over shared documents that move both: 5 % may miss zero.

    Of 200 simulated comparisons, 10 miss on average; more than 20 or fewer than 2 would happen once
    in a thousand. Drawn apart, the same data would hardly ever miss.
    """
    quantity = QUANTITIES[3]
    rng = np.random.default_rng(0)
    missed = missed_apart = 0
    for number in range(200):
        shared = rng.normal(size=(40, 1, 1))
        stacks = [
            {
                quantity.measure.numerator: shared + 0.3 * rng.normal(size=(40, 1, 1)),
                quantity.measure.denominator: np.ones((40, 1, 1)),
            }
            for _ in range(2)
        ]
        one, two, apart = (
            quantity.samples(resample_columns(stack, (1,), seed), [1])
            for stack, seed in zip(
                (*stacks, stacks[1]), (number, number, 10_000 + number), strict=True
            )
        )
        found, wide = interval_of(two - one, 40), interval_of(apart - one, 40)
        missed += not found.low <= 0 <= found.high
        missed_apart += not wide.low <= 0 <= wide.high
    assert 2 <= missed <= 20
    assert missed_apart == 0


def renamed(run: Run, stack: str, folder: Path) -> Run:
    """The run written again, as if its stack had another name."""
    sites = tuple(replace(site, stack=stack) for site in run.manifest.model.sites)
    (depth,) = run.manifest.model.stack_layers.values()
    model = replace(run.manifest.model, sites=sites, stack_layers={stack: depth})
    manifest = replace(run.manifest, model=model)
    shutil.copytree(run.folder / "windows", folder / "windows")
    manifest.write(folder)
    files = RunFolder(folder, manifest)
    for number in range(manifest.shards):
        shard = run.files.read_shard(number)
        place, kind = shard.rows.column_names.index("stack"), shard.rows["stack"].type
        column = pa.array([stack] * len(shard.rows)).cast(kind)
        rows = shard.rows.set_column(place, "stack", column)
        arrays = {f"{stack}/{name.partition('/')[2]}": a for name, a in shard.arrays.items()}
        files.shards.write(number, Shard(rows, arrays))
    reduce_run(files)
    return hs.open_run(folder)
