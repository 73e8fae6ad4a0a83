"""The texts that a run keeps for show: their pairs are those that the run counted."""

import shutil
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from headscope.errors import RunError
from headscope.measuring.examples import MAX_PAIRS, measure_examples
from headscope.runs.examples import read_examples
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import Manifest
from headscope.settings import PairRule
from tools.keep_run import KEPT


def test_examples_are_the_pairs_that_were_counted_the_most_similar_first(demo_run):
    rows = demo_run.rows().to_table().to_pandas().set_index(["text", "layer", "head"])
    examples = read_examples(demo_run.folder, demo_run.manifest)
    assert sorted(examples["text"].unique()) == [0, 4, 7, 11]
    for (text, layer, head), pairs in examples.groupby(["text", "layer", "head"]):
        counted = rows.loc[(text, layer, head)]
        assert len(pairs) == counted["pairs"]
        assert (pairs["j"] - pairs["i"]).sum() == counted["distance_sum"]
        assert (np.diff(pairs["score"]) <= 0).all()
    assert len(examples.groupby(["text", "layer", "head"])) == 4 * 72


def test_long_lists_keep_their_most_similar_pairs(demo_model, demo_run, tmp_path):
    shutil.copytree(demo_run.folder / "windows", tmp_path / "windows")
    settings = replace(demo_run.manifest.settings, pairs=PairRule("top", 0.1))
    run = RunFolder(tmp_path, replace(demo_run.manifest, settings=settings))
    measure_examples(run, demo_model, demo_model.sites_of([1, 4]))
    examples = read_examples(tmp_path, run.manifest)
    assert sorted(examples["layer"].unique()) == [1, 4]
    number = examples.groupby(["text", "layer", "head"]).size()
    assert number.max() == MAX_PAIRS
    # A short window has fewer, and keeps them all.
    tokens = [int((~window.special).sum()) for window in run.read_windows_at(range(12))]
    taken = [settings.pairs.number_taken(n * (n - 1) // 2) for n in tokens]
    assert all(n >= min(taken[text], MAX_PAIRS) for (text, *_), n in number.items())


def test_a_run_without_examples_has_an_empty_table(tmp_path):
    manifest = Manifest.read(KEPT / "schema-2")
    names = ["text", "stack", "layer", "head", "i", "j", "score"]
    assert list(read_examples(tmp_path, manifest)) == names
    (tmp_path / "examples.parquet").write_bytes(b"no table")
    with pytest.raises(RunError, match=r"examples\.parquet"):
        read_examples(tmp_path, manifest)


def test_what_a_file_says_to_pandas_is_not_believed(demo_run, tmp_path):
    table = pq.read_table(demo_run.folder / "examples.parquet")
    for said in (b'{"columns": no JSON', b'{"index_columns": ["score"], "columns": []}'):
        other = table.replace_schema_metadata({b"pandas": said})
        pq.write_table(other, tmp_path / "examples.parquet")
        examples = read_examples(tmp_path, demo_run.manifest)
        assert examples.equals(read_examples(demo_run.folder, demo_run.manifest))
