"""Runs that are merged."""

import shutil

import numpy as np
import pytest

import headscope as hs
from headscope.errors import MergeError
from headscope.runs.examples import read_examples
from tests.demo_texts import QUICK, write_uneven_corpus

WORDS = (25, 60, 33, 48, 29, 55, 41)
SOME = {"layers": [2], "shard_windows": 3, **QUICK}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Two corpora that share no text."""
    folder = tmp_path_factory.mktemp("corpora")
    return (
        write_uneven_corpus(folder / "a.jsonl", WORDS),
        write_uneven_corpus(folder / "b.jsonl", WORDS[:4], first=len(WORDS)),
    )


@pytest.fixture(scope="module")
def runs(demo_model, corpora, tmp_path_factory):
    """A run over each corpus."""
    folder = tmp_path_factory.mktemp("runs")
    return tuple(
        hs.analyze(demo_model, corpus, out=folder / corpus.stem, **SOME) for corpus in corpora
    )


def partial_copy(run: hs.Run, folder, *, without: list[int]):
    shutil.copytree(run.folder, folder)
    (folder / "results.nc").unlink()
    for number in without:
        for path in (folder / "shards").glob(f"{number:05d}.*"):
            path.unlink()
    return folder


def test_parts_of_one_run_make_the_whole(runs, tmp_path):
    whole = runs[0]
    assert whole.manifest.shards == 3
    one = partial_copy(whole, tmp_path / "one", without=[0])
    other = partial_copy(whole, tmp_path / "other", without=[1, 2])
    merged = hs.merge([one, other], tmp_path / "merged", report=False)
    for name, array in whole.arrays.variables.items():
        assert array.values.tobytes() == merged.arrays[name].values.tobytes(), name
    assert merged.rows().to_table().equals(whole.rows().to_table())
    assert merged.manifest == whole.manifest


def test_runs_over_different_texts_equal_one_run_over_both(demo_model, corpora, runs, tmp_path):
    merged = hs.merge([run.folder for run in runs], tmp_path / "merged", report=False)
    both = hs.analyze(demo_model, list(corpora), out=tmp_path / "both", **SOME)
    assert merged.manifest.corpus.windows == both.manifest.corpus.windows == 11
    assert read_examples(merged.folder, merged.manifest).equals(
        read_examples(runs[0].folder, runs[0].manifest)
    )
    for name, array in both.arrays.data_vars.items():
        if name.endswith("_permuted"):
            continue  # drawn by the number of the text, which is another one after the merge
        np.testing.assert_allclose(
            merged.arrays[name], array, rtol=1e-5, atol=1e-5, err_msg=str(name)
        )
    texts = [run.rows().to_table()["text"].to_pylist() for run in (merged, both)]
    assert sorted(texts[0]) == sorted(texts[1])
    tokens = [run.windows().to_table()["token_ids"].to_pylist() for run in (merged, both)]
    assert tokens[0] == tokens[1]


def test_the_order_of_runs_changes_no_total(runs, tmp_path):
    folders = [run.folder for run in runs]
    one = hs.merge(folders, tmp_path / "one", report=False)
    other = hs.merge(folders[::-1], tmp_path / "other", report=False)
    for name, array in one.arrays.data_vars.items():
        np.testing.assert_allclose(other.arrays[name], array, rtol=1e-12, err_msg=str(name))


def test_runs_that_differ_are_refused_and_the_field_named(demo_model, corpora, runs, tmp_path):
    cosine = hs.analyze(demo_model, corpora[1], similarity="cosine", out=tmp_path / "c", **SOME)
    with pytest.raises(MergeError, match="setting similarity: raw / cosine"):
        hs.merge([runs[0].folder, cosine.folder], tmp_path / "merged", report=False)
    double = hs.analyze("demo", corpora[1], dtype="float64", out=tmp_path / "d", **SOME)
    with pytest.raises(MergeError, match="dtype: float32 / float64"):
        hs.merge([runs[0].folder, double.folder], tmp_path / "merged", report=False)
    assert not (tmp_path / "merged").exists()


def test_runs_of_different_models_are_refused(demo_model, corpora, runs, tmp_path):
    untrained = hs.analyze(demo_model.untrained(seed=0), corpora[1], out=tmp_path / "u", **SOME)
    with pytest.raises(MergeError, match="model weights"):
        hs.merge([runs[0].folder, untrained.folder], tmp_path / "merged", report=False)


def test_the_same_texts_twice_are_refused(demo_model, corpora, runs, tmp_path):
    """Also when one run holds only some of the texts, so that its files are other files."""
    part = hs.analyze(demo_model, corpora[0], texts=2, out=tmp_path / "part", **SOME)
    with pytest.raises(MergeError, match="same windows"):
        hs.merge([runs[0].folder, part.folder], tmp_path / "merged", report=False)
    with pytest.raises(MergeError, match="same windows"):
        hs.merge(
            [runs[0].folder, runs[1].folder, runs[0].folder], tmp_path / "merged", report=False
        )
    assert not (tmp_path / "merged").exists()


def test_an_unfinished_run_over_other_texts_is_refused(runs, tmp_path):
    part = partial_copy(runs[0], tmp_path / "part", without=[1])
    with pytest.raises(MergeError, match="2 of 3 shards"):
        hs.merge([part, runs[1].folder], tmp_path / "merged", report=False)


def test_a_shard_that_no_part_has_is_named(runs, tmp_path):
    parts = [partial_copy(runs[0], tmp_path / name, without=[1]) for name in "ab"]
    with pytest.raises(MergeError, match="shard 1 is in none"):
        hs.merge(parts, tmp_path / "merged", report=False)


def test_a_folder_that_is_not_empty_is_left_alone(runs, tmp_path):
    (tmp_path / "file").write_text("content")
    with pytest.raises(MergeError, match="there already"):
        hs.merge([run.folder for run in runs], tmp_path, report=False)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
