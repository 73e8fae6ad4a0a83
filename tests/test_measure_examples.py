"""The texts that a run keeps for show: their pairs are those that the run counted."""

import numpy as np
import pandas as pd

import headscope as hs
from headscope.measure_examples import MOST_PAIRS
from headscope.runs.examples import read_examples


def test_examples_are_the_pairs_that_were_counted_the_most_similar_first(demo_run):
    rows = demo_run.rows().to_table().to_pandas().set_index(["text", "layer", "head"])
    examples = read_examples(demo_run.folder)
    assert sorted(examples["text"].unique()) == [0, 4, 7, 11]
    for (text, layer, head), pairs in examples.groupby(["text", "layer", "head"]):
        counted = rows.loc[(text, layer, head)]
        assert len(pairs) == counted["pairs"]
        assert (pairs["j"] - pairs["i"]).sum() == counted["distance_sum"]
        assert (np.diff(pairs["score"]) <= 0).all()
    assert len(examples.groupby(["text", "layer", "head"])) == 4 * 72


def test_long_lists_keep_their_most_similar_pairs(demo_model, tmp_path):
    run = hs.analyze(
        demo_model, "demo", texts=1, out=tmp_path / "run", pairs="top:0.1", nulls=0, progress=False
    )
    examples = read_examples(run.folder)
    assert (examples.groupby(["layer", "head"]).size() == MOST_PAIRS).all()


def test_a_merged_run_keeps_the_examples_of_the_first(demo_model, demo_run, tmp_path):
    (tmp_path / "other.txt").write_text("A text of some length, with two sentences. It ends. " * 9)
    options = {"nulls": 0, "shard_windows": 5, "progress": False}
    other = hs.analyze(demo_model, tmp_path / "other.txt", out=tmp_path / "other", **options)
    merged = hs.merge([demo_run.folder, other.folder], tmp_path / "merged")
    pd.testing.assert_frame_equal(read_examples(merged.folder), read_examples(demo_run.folder))
