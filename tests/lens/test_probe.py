"""Probes: fitted on other documents, where states are rotated and the plain lens sees nothing."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import headscope as hs
from headscope.lens.probe import half_of
from headscope.measuring.outcome import Outcome
from headscope.models.own_head import OwnHead
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import Manifest
from tests.intervene.small_models import write_model
from tests.lens.texts import OPTIONS, write_texts


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probe")
    model = hs.load_model(write_model("gpt2-deep", folder / "model"), head=True)
    options = {**OPTIONS, "positions": None, "probe": "tokens"}
    return model, hs.lens(model, write_texts(folder), out=folder / "study", **options)


def test_each_half_is_read_with_maps_fitted_on_the_other(study):
    """Against a plain ridge solution over all states of a half, by numpy."""
    model, result = study
    run = RunFolder(result.folder, Manifest.read(result.folder))
    windows = [w for number in range(run.manifest.shards) for w in run.read_windows(number)]
    halves = np.array([half_of(window) for window in windows])
    assert 0 < halves.sum() < len(halves)
    by_document = {window.document: half for window, half in zip(windows, halves, strict=True)}
    assert [by_document[window.document] for window in windows] == halves.tolist()
    outcome, head = Outcome(model), OwnHead(model)
    rows = []
    for window in windows:
        batch = outcome.prepare([window])
        with torch.no_grad():
            output = model.model(**batch.inputs, output_hidden_states=True)
            own = head.states(batch.inputs, batch.scored)
        for layer in range(4):
            given = output.hidden_states[layer][0][batch.scored[0]]
            torch.testing.assert_close(own[layer], given, rtol=1e-4, atol=1e-4)
        rows.append(own.double())
    maps = load_file(result.folder / "probe.safetensors")
    losses, tokens = 0.0, 0
    for half in (0, 1):
        states = torch.cat([r for r, h in zip(rows, halves, strict=True) if h == half], dim=1)
        x, y = states[2].numpy(), states[-1].numpy()
        w = 1 / np.square(y).sum(1, keepdims=True)
        mean_x, mean_y = (w * x).sum(0) / w.sum(), (w * y).sum(0) / w.sum()
        scatter = (w * (x - mean_x)).T @ (x - mean_x)
        weight = maps[f"layer_2/fitted_on_half_{half}/weight"].double().numpy()
        # The penalty is whatever was chosen: it must be one number that explains all weights.
        against = (w * (x - mean_x)).T @ (y - mean_y) - scatter @ weight
        penalty = (against * weight).sum() / np.square(weight).sum()
        assert penalty >= 0
        np.testing.assert_allclose(against, penalty * weight, atol=1e-4 * np.abs(scatter).max())
        bias = maps[f"layer_2/fitted_on_half_{half}/bias"].double().numpy()
        np.testing.assert_allclose(bias, mean_y - mean_x @ weight, rtol=1e-4, atol=1e-4)
        for window, of_window, other in zip(windows, rows, halves, strict=True):
            if other == half:
                continue
            mapped = torch.from_numpy(of_window[2].numpy() @ weight + bias).float()
            with torch.no_grad():
                logits = model.model.lm_head(model.model.transformer.ln_f(mapped)).double()
            targets = torch.tensor(window.token_ids[1:].tolist())
            losses += float(torch.nn.functional.cross_entropy(logits, targets, reduction="sum"))
            tokens += len(targets)
    assert tokens == result.positions
    found = result.layers[2].readings["probe"]["cross_entropy"].value
    assert found == pytest.approx(losses / tokens, abs=1e-3)


def test_lens_and_probe_stand_side_by_side(study):
    _, result = study
    for layer in result.layers:
        values = layer.to_json()
        for name in ("entropy", "cross_entropy", "accuracy", "token_type_accuracy"):
            assert set(values[name]) == set(values["probe"][name]) == {"value", "low", "high"}
    last = result.layers[-1].readings
    assert last["probe"] == last["lens"], "the last layer needs no map to itself"
    # Of three layers that change states at random, the maps undo what is linear.
    for layer in result.layers[1:-1]:
        kl = {name: scores["kl"].value for name, scores in layer.readings.items()}
        assert kl["probe"] != kl["lens"]
    said = json.loads((result.folder / "study.json").read_text())
    assert said == result.to_json()
    written = result.write_figures()
    assert {path.stem for path in written} >= {"lens-layers", "lens-frequency"}


def test_a_probe_reads_states_that_were_rotated(tmp_path):
    """Where layers do nothing but rotate, the lens sees nothing and the probe everything."""
    model = hs.load_model(write_model("gpt2-deep", tmp_path / "model"), head=True)
    body = model.model.transformer
    with torch.no_grad():
        for block in body.h:  # blocks add nothing ...
            for part in (block.attn.c_proj, block.mlp.c_proj):
                part.weight.zero_()
                part.bias.zero_()
        # ... but the last, which adds a linear function of what it reads (gelu(x) is x for large x)
        last = body.h[-1]
        generator = torch.Generator().manual_seed(0)
        last.ln_2.weight.fill_(1.0)
        last.ln_2.bias.zero_()
        last.mlp.c_fc.weight.zero_()
        last.mlp.c_fc.weight[:, :16] = 0.3 * torch.eye(16)
        last.mlp.c_fc.bias.fill_(20.0)
        last.mlp.c_proj.weight[:16] = 30 * torch.randn(16, 16, generator=generator)
        last.mlp.c_proj.bias.copy_(-20 * last.mlp.c_proj.weight[:16].sum(0))
    options = {**OPTIONS, "positions": None, "probe": "tokens"}
    result = hs.lens(model, write_texts(tmp_path), out=tmp_path / "study", **options)
    kl = {name: scores["kl"].value for name, scores in result.layers[2].readings.items()}
    assert kl["probe"] < 0.3 * kl["lens"]
