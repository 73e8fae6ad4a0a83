"""The sample of a run under every choice, on the demo model: its own choice equals its rows."""

import shutil

import numpy as np
import pytest

import headscope as hs
from headscope.runs.choice_files import FILES, FOLDER, read_choices
from headscope.runs.sample_receipt import RECEIPT

ASKED = {
    "texts": 6,
    "window": 48,
    "layers": [1, 6],
    "permutations": 0,
    "report": False,
    "progress": False,
}
WITH_CHOICES = {"nulls": 3, "null_seeds": 2, "robustness": 6}
PER_HEAD = ("pairs", "repetition_pairs", "repetition_expected", "distinct_pairs", "common_pairs")
PER_LAYER = ("distance_sum", "same_sentence_pairs", "same_sentence_expected", "focal_exclusiveness")


@pytest.fixture(scope="module")
def run(demo_model, tmp_path_factory) -> hs.Run:
    out = tmp_path_factory.mktemp("robust") / "run"
    return hs.analyze(demo_model, out=out, **ASKED, **WITH_CHOICES)


def own_choice(run: hs.Run):
    tables = read_choices(run.folder, run.manifest, within=run.files.within)
    settings = run.manifest.settings
    at = (tables.similarities.index(settings.similarity), tables.rules.index(str(settings.pairs)))
    return tables, at


@pytest.mark.parametrize("untrained", [False, True])
def test_the_runs_own_choice_equals_its_rows(run, untrained):
    of = run.untrained[0] if untrained else run
    tables, (similarity, rule) = own_choice(of)
    rows = of.rows().to_table().to_pandas()
    assert len(tables.windows) == (3 if untrained else 6)
    for place, window in enumerate(tables.windows):
        of_window = rows[rows["text"] == window].sort_values(["layer", "head"])
        for name in PER_HEAD:
            cells = tables.heads["encoder"][name][place, :, similarity, rule]
            np.testing.assert_allclose(cells, of_window[name], rtol=1e-5, err_msg=name)
        by_layer = of_window.groupby("layer")
        for name in PER_LAYER:
            cells = tables.layers["encoder"][name][place, :, similarity, rule]
            np.testing.assert_allclose(cells, by_layer[name].sum(), rtol=1e-5, err_msg=name)


def contents(run: hs.Run) -> dict[str, bytes]:
    home = run.folder / FOLDER
    return {name: (home / name).read_bytes() for name in (*FILES, RECEIPT)}


def test_the_number_of_threads_changes_nothing(run, demo_model, tmp_path):
    other = hs.analyze(demo_model, out=tmp_path / "run", threads=2, **ASKED, **WITH_CHOICES)
    ours, theirs = (read_choices(of.folder, of.manifest, within=of.folder) for of in (run, other))
    for kind in ("heads", "layers", "attention"):
        for name, values in getattr(ours, kind)["encoder"].items():
            np.testing.assert_array_equal(getattr(theirs, kind)["encoder"][name], values, name)


def test_what_was_measured_is_not_measured_again(run, demo_model):
    files = [path for path in run.folder.rglob("*") if path.suffix in (".parquet", ".safetensors")]
    assert any(path.parent.name == FOLDER for path in files)
    before = {path: path.stat().st_mtime_ns for path in files if "results" not in path.name}
    hs.analyze(demo_model, out=run.folder, **ASKED, **WITH_CHOICES)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_run_that_was_interrupted_before_its_choices_is_made_whole(run, demo_model, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(run.folder, out)
    (out / FOLDER / RECEIPT).unlink()
    shutil.rmtree(out / "nulls" / "untrained-1" / FOLDER)
    resumed = hs.analyze(demo_model, out=out, **ASKED, **WITH_CHOICES)
    assert contents(resumed) == contents(run)
    assert contents(resumed.untrained[1]) == contents(run.untrained[1])


def test_without_robustness_there_is_no_folder(demo_model, tmp_path):
    asked = ASKED | {"texts": 2, "layers": [1]}
    without = hs.analyze(
        demo_model, out=tmp_path / "run", nulls=1, null_seeds=2, robustness=0, **asked
    )
    assert not list(without.folder.rglob(FOLDER))
    assert len(without.untrained) == 2


def test_untrained_models_keep_no_summed_matrices(run):
    for null in run.untrained:
        kept = {
            key
            for number in range(null.manifest.shards)
            for key in null.files.shards.read(number).arrays
        }
        assert kept
        assert not [key for key in kept if "similarity_sum" in key]
    assert "similarity_sum" in run.arrays
