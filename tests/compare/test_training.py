"""Checkpoints over steps: names, seeds, lens studies, and a change that was planted."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM

import headscope as hs
from headscope.compare.training_points import training_points
from headscope.errors import RunError, SettingsError
from headscope.run import Run
from tests.intervene.small_models import write_model
from tests.lens.texts import OPTIONS, write_texts


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[hs.Run]:
    """Two seeds of a training that learns nothing but between steps 10 and 30."""
    folder = tmp_path_factory.mktemp("training")
    corpus = write_texts(folder)
    before = write_model("bert-masked", folder / "before" / "tiny")
    after = Path(shutil.copytree(before, folder / "after" / "tiny"))
    model = BertForMaskedLM.from_pretrained(after)
    with torch.no_grad():
        model.cls.predictions.bias += torch.linspace(0, 9, len(model.cls.predictions.bias))
        for layer in model.bert.encoder.layer:
            layer.attention.self.value.weight *= -0.5
            layer.attention.self.query.weight *= 3
    model.save_pretrained(after)
    made = {}
    for name, checkpoint in {"before": before, "after": after}.items():
        made[name] = folder / f"run-{name}"
        hs.analyze(checkpoint, corpus, nulls=0, report=False, out=made[name], **OPTIONS)
        hs.lens(checkpoint, corpus, positions=None, out=made[name] / "lens", **OPTIONS)
    found = []
    for seed in (0, 1):
        for step in (0, 10, 30, 100):
            target = folder / f"seed-{seed}" / f"step-{step:03d}"
            shutil.copytree(made["before" if step < 30 else "after"], target)
            found.append(hs.open_run(target))
    return found


@pytest.fixture(scope="module")
def comparison(runs) -> hs.Comparison:
    return hs.compare(runs, steps=True)


def test_a_change_is_found_at_its_step(comparison):
    fastest = comparison.fastest.set_index(["quantity", "part"])
    assert (fastest["from_step"] == 10).sum() > 10
    clear = fastest[fastest["clear"]]
    assert ("loss", "all") in clear.index
    assert set(zip(clear["from_step"], clear["to_step"], strict=True)) == {(10, 30)}
    assert fastest.loc[("loss", "all"), "share"] == 1


def test_loss_and_entropy_are_those_of_the_lens(runs, comparison):
    training = comparison.training.set_index(["quantity", "part", "step"])
    for run, step in ((runs[0], 0), (runs[3], 100)):
        layers = json.loads((run.folder / "lens" / "study.json").read_text())["layers"]
        loss = training.loc[("loss", "all", step)]
        expected = layers[-1]["cross_entropy"]
        assert loss["value"] == pytest.approx(expected["value"])
        # The same documents, drawn with another number of them; seeds that agree add nothing.
        assert loss["high"] - loss["low"] == pytest.approx(
            expected["high"] - expected["low"], rel=0.2
        )
        for part, layer in {"first": 1, "last": 2}.items():
            entropy = training.loc[("lens_entropy", part, step), "value"]
            assert entropy == pytest.approx(layers[layer]["entropy"]["value"])
    assert ("lens_entropy", "middle", 0) not in training.index, "two layers have no middle third"


def test_numbers_over_steps_are_those_of_the_runs(comparison):
    training = comparison.training.set_index(["quantity", "part", "step"])["value"]
    thirds = comparison.thirds.assign(step=np.repeat(comparison.steps, 18)).dropna(subset="value")
    for key, of_key in thirds.groupby(["quantity", "third", "step"]):
        assert training[key] == pytest.approx(of_key["value"].mean())
    assert (comparison.training["trainings"] == 2).all()
    steps = dict(zip(comparison.runs, comparison.steps, strict=True))
    counted = comparison.roles.assign(step=comparison.roles["run"].map(steps))
    for (role, step), heads in (counted.groupby(["role", "step"])["heads"].sum() / 2).items():
        assert training[f"role_{role}", "all", step] == heads


def test_signal_to_noise_is_that_of_the_heads(verdict_run):
    comparison = hs.compare([verdict_run, verdict_run], steps=[0, 10])
    training = comparison.training.set_index(["quantity", "part", "step"])
    means = verdict_run.signal.groupby("layer")["sentence_snr"].mean().to_numpy()
    for part, places in {"first": (0, 1), "middle": (2, 3), "last": (4, 5)}.items():
        found = training.loc[("sentence_snr", part, 10)]
        assert found["value"] == pytest.approx(means[list(places)].mean())
        assert found["low"] < found["value"] < found["high"]
    fastest = comparison.fastest.set_index(["quantity", "part"]).loc[("sentence_snr", "last")]
    assert fastest["low"] == fastest["high"] == 0, "the same groups are drawn for both"


def test_a_run_without_a_lens_study_is_remarked(runs, tmp_path):
    bare = Path(shutil.copytree(runs[1].folder, tmp_path / "step-010"))
    shutil.rmtree(bare / "lens")
    comparison = hs.compare([runs[0], bare, runs[2]], steps=True)
    assert any("step-010): no lens study" in remark for remark in comparison.remarks)
    training = comparison.training.set_index(["quantity", "step"])["value"]
    assert np.isfinite(training["loss", 0])
    assert np.isnan(training["loss", 10])
    loss = comparison.fastest.set_index("quantity").loc["loss"]
    assert (loss["from_step"], loss["to_step"]) == (0, 30)


def test_one_step_has_no_fastest_change(runs):
    comparison = hs.compare([runs[0], runs[4]], steps=True)
    assert comparison.steps == (0, 0)
    assert comparison.fastest.empty
    assert (comparison.training["step"] == 0).all()
    assert any("all runs are of one step" in remark for remark in comparison.remarks)
    comparison.figure()


def test_a_training_that_lacks_a_step_is_left_out(runs):
    comparison = hs.compare(runs[:7], steps=True)
    assert (comparison.training["trainings"] == 1).all()
    assert any(remark.startswith("trainings 1 have no run") for remark in comparison.remarks)


def test_seeds_may_be_given(runs):
    some = [runs[0], runs[1], runs[4], runs[5]]
    given = hs.compare(some, steps=[0, 10, 0, 10], trainings=[7, 7, 8, 8])
    counted = hs.compare(some, steps=[0, 10, 0, 10])
    assert given.training.equals(counted.training)
    assert (given.training["trainings"] == 2).all()
    with pytest.raises(SettingsError, match="same step of the same training"):
        hs.compare(some, steps=[0, 10, 0, 10], trainings=[7, 7, 7, 7])
    with pytest.raises(SettingsError, match="3 trainings for 4 runs"):
        hs.compare(some, steps=[0, 10, 0, 10], trainings=[7, 7, 8])
    with pytest.raises(SettingsError, match="no training has a run of every step"):
        hs.compare(some, steps=[0, 10, 20, 30], trainings=[7, 7, 8, 8])
    with pytest.raises(SettingsError, match="give steps, too"):
        hs.compare(some, trainings=[7, 7, 8, 8])


def test_what_lies_in_the_lens_folder_must_be_a_study_of_the_model(runs, tmp_path):
    for name, change, match in (
        ("other", ("tiny", "tidy"), "is a study of tidy, not of the model"),
        ("reach", ('"name": "lens"', '"name": "reach"'), "holds no lens study"),
    ):
        folder = Path(shutil.copytree(runs[0].folder, tmp_path / name / "step-0"))
        manifest = folder / "lens" / "manifest.json"
        manifest.write_text(manifest.read_text().replace(*change))
        with pytest.raises(RunError, match=match):
            hs.compare([folder, runs[1]], steps=[0, 10])
    folder = Path(shutil.copytree(runs[0].folder, tmp_path / "part" / "step-0"))
    next((folder / "lens" / "shards").glob("*.json")).unlink()
    with pytest.raises(RunError, match="lens is not finished"):
        hs.compare([folder, runs[1]], steps=[0, 10])


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["bert12-step-050", "bert12-step-800"], [(50, 0), (800, 0)]),
        (
            ["seed-0/step-1", "seed-3/step-1", "seed-0/step-2", "seed-3/step-2"],
            [(1, 0), (1, 3), (2, 0), (2, 3)],
        ),
        (["b-seed1-step5", "b-seed2-step5"], [(5, 1), (5, 2)]),
        (["b-seed1-step5", "b-seed1-step6"], [(5, 1), (6, 1)]),
        (["tiny-2/run", "tiny-1/run"], None),
        (["seed-1/run", "seed-2/run"], None),
        (["step-1-seed-1", "step-2-seed-2"], None),
        (["step-1", "other-2"], None),
        (["step-1", "step-01"], None),
        (["1-2", "2-1"], None),
    ],
)
def test_steps_and_seeds_come_from_names(demo_run, folders, expected):
    found = training_points([Run(Path(folder), demo_run.manifest) for folder in folders])
    points = None if found is None else [(point.step, point.training) for point in found]
    assert points == expected
