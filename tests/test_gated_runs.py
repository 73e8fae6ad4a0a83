"""Whole uses of a gated model against the same uses of a model whose W_O has zeroed columns."""

import json
import shutil

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import MergeError, RunError, SettingsError
from headscope.runs.manifest import Manifest
from headscope.segment.segmenter import Segmenter
from tests.compare.tiny_bert import D_HEAD, TEXTS, loaded, tiny_bert, tokenizer_of_all

GATES = {(1, 2): 0.0}
OPTIONS = {
    "window": 16,
    "min_tokens": 4,
    "shard_windows": 4,
    "permutations": 2,
    "report": False,
    "progress": False,
}


def without_columns():
    """Layer 1, head 2."""
    model = tiny_bert()
    with torch.no_grad():
        model.encoder.layer[0].attention.output.dense.weight[:, D_HEAD : 2 * D_HEAD] = 0
    return model


@pytest.fixture(scope="module")
def model():
    return loaded(tiny_bert())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for number, text in enumerate(TEXTS):
        (folder / f"{number}.txt").write_text(text)
    return folder


@pytest.fixture(scope="module")
def gated_run(model, corpus, tmp_path_factory):
    with model.gates(GATES):
        return hs.analyze(
            model, corpus, out=tmp_path_factory.mktemp("gated") / "run", nulls=0, **OPTIONS
        )


def test_a_run_under_gates_is_the_run_of_the_model_without_the_head(gated_run, corpus, tmp_path):
    other = hs.analyze(loaded(without_columns()), corpus, out=tmp_path / "run", nulls=0, **OPTIONS)
    ours, theirs = (run.heads.set_index(["layer", "head"]) for run in (gated_run, other))
    # The head itself still writes in the model whose projection ignores it.
    for measure in ("mean_distance", "same_sentence", "repetition"):
        np.testing.assert_allclose(ours[measure].loc[2], theirs[measure].loc[2], rtol=1e-5)
    intact = hs.analyze(loaded(tiny_bert()), corpus, out=tmp_path / "intact", nulls=0, **OPTIONS)
    whole = intact.heads.set_index(["layer", "head"])
    assert not np.allclose(ours["mean_distance"].loc[2], whole["mean_distance"].loc[2])


def test_the_manifest_says_which_heads_were_gated(gated_run):
    written = json.loads((gated_run.folder / "manifest.json").read_text())
    assert written["gates"] == [
        {"stack": "encoder", "layer": 1, "head": 2, "factor": 0.0, "replaced_by": None}
    ]
    assert "encoder layer 1 head 2 times 0" in written["model"]["flags"][-1]
    assert Manifest.read(gated_run.folder) == gated_run.manifest


def test_a_run_is_resumed_with_its_own_gates_alone(model, corpus, gated_run, tmp_path):
    folder = shutil.copytree(gated_run.folder, tmp_path / "run")
    (folder / "shards" / "00001.json").unlink()
    vectors = torch.zeros(D_HEAD)
    for others in ({}, {(1, 3): 0.0}, {(1, 2): 0.5}, {(1, 2): vectors}):
        with model.gates(others), pytest.raises(RunError, match=r"holds another run.*gates"):
            hs.analyze(model, corpus, out=folder, nulls=0, **OPTIONS)
    with model.gates(GATES):
        resumed = hs.analyze(model, corpus, out=folder, nulls=0, **OPTIONS)
    assert resumed.rows().to_table().equals(gated_run.rows().to_table())


def test_runs_with_other_gates_are_not_merged(model, corpus, gated_run, tmp_path):
    intact = hs.analyze(model, corpus, out=tmp_path / "run", nulls=0, **OPTIONS)
    with pytest.raises(MergeError, match="gates"):
        hs.merge([gated_run.folder, intact.folder], tmp_path / "merged")


def test_a_run_without_gates_has_the_digest_that_it_had_before(model, corpus, tmp_path):
    """Receipts of older runs name it."""
    run = hs.analyze(model, corpus, out=tmp_path / "run", nulls=0, **OPTIONS)
    path = run.folder / "manifest.json"
    written = json.loads(path.read_text())
    assert written.pop("gates") == []
    path.write_text(json.dumps(written))
    old = hs.open_run(run.folder)
    assert old.manifest == run.manifest
    assert old.manifest.digest == run.manifest.digest
    resumed = hs.analyze(model, corpus, out=run.folder, nulls=0, **OPTIONS)
    assert resumed.rows().to_table().equals(run.rows().to_table())


def test_threads_of_a_run_see_the_gates(model, corpus, gated_run, tmp_path):
    torch.set_num_threads(3)
    try:
        with model.gates(GATES):
            run = hs.analyze(model, corpus, out=tmp_path / "run", nulls=0, **OPTIONS)
    finally:
        torch.set_num_threads(1)
    np.testing.assert_allclose(
        run.heads["mean_distance"], gated_run.heads["mean_distance"], rtol=1e-5
    )


def test_workers_measure_under_the_gates_of_the_run(corpus, gated_run, tmp_path):
    tiny_bert().save_pretrained(tmp_path / "model")
    tokenizer_of_all().save_pretrained(tmp_path / "model")
    model = hs.load_model(tmp_path / "model")
    with model.gates(GATES):
        run = hs.analyze(model, corpus, out=tmp_path / "run", nulls=0, workers=2, **OPTIONS)
    assert run.rows().to_table().equals(gated_run.rows().to_table())
    with (
        model.gates({(1, 2): torch.zeros(D_HEAD)}),
        pytest.raises(SettingsError, match="cannot be sent to workers"),
    ):
        hs.analyze(model, corpus, out=tmp_path / "other", nulls=0, workers=2, **OPTIONS)


def test_untrained_models_are_intact(model, corpus, tmp_path):
    options = {"nulls": 4, "null_seeds": 2, "robustness": 4, **OPTIONS}
    with model.gates(GATES):
        run = hs.analyze(model, corpus, out=tmp_path / "run", **options)
    null = Manifest.read(tmp_path / "run" / "nulls" / "untrained-0", within=tmp_path / "run")
    assert null.gates == ()
    assert len(run.manifest.gates) == 1


def test_a_manifest_with_nonsense_for_gates_is_refused(gated_run, tmp_path):
    folder = shutil.copytree(gated_run.folder, tmp_path / "run")
    path = folder / "manifest.json"
    written = json.loads(path.read_text())
    (good,) = written["gates"]
    for wrong in (
        7,
        [7],
        [{**good, "factor": None}],
        [{**good, "factor": "0"}],
        [{**good, "factor": True}],
        [{**good, "replaced_by": "f" * 64}],
        [{**good, "layer": 0}],
        [{**good, "head": 2**40}],
        [{**good, "stack": "../up"}],
        [{**good, "more": 1}],
    ):
        path.write_text(json.dumps({**written, "gates": wrong}))
        with pytest.raises(RunError, match="is damaged: gates"):
            hs.open_run(folder)
    path.write_text(json.dumps(written).replace('"factor": 0.0', '"factor": NaN'))
    with pytest.raises(RunError):
        hs.open_run(folder)


def test_a_run_has_one_set_of_gates(model, corpus, tmp_path):
    with model.gates([GATES, {}]), pytest.raises(SettingsError, match="same gates"):
        hs.analyze(model, corpus, out=tmp_path / "run", nulls=0, **OPTIONS)


def test_a_view_under_gates_is_that_of_the_model_without_the_head(model):
    with model.gates(GATES):
        ours = hs.look(model, TEXTS[0])
    theirs = hs.look(loaded(without_columns()), TEXTS[0])
    assert np.abs(ours.head_output[0, 1]).max() == 0
    np.testing.assert_allclose(ours.head_output[1], theirs.head_output[1], atol=1e-5)
    assert not np.allclose(ours.head_output[1], hs.look(model, TEXTS[0]).head_output[1], atol=1e-2)


def test_the_segmenter_reads_under_gates(demo_model):
    from headscope.text.demo import read_demo

    text = next(iter(read_demo())).text.lower().replace(".", "")
    segmenter = Segmenter(demo_model)
    intact = segmenter.boundary_scores(text).probabilities
    with demo_model.gates(dict.fromkeys(range(1, 7), 0.0)):
        gated = segmenter.boundary_scores(text).probabilities
    assert not np.allclose(gated, intact)
    np.testing.assert_array_equal(segmenter.boundary_scores(text).probabilities, intact)
