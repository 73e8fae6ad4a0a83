"""Folders of pruned models, loaded by transformers itself in a process without headscope."""

import json
import subprocess
import sys

import pytest
import torch

import headscope as hs
from headscope.errors import ModelError, RunError
from headscope.intervene.projection_edit import edited, edits_without
from headscope.intervene.pruned_folder import write_pruned
from headscope.measuring.writes import measure_writes
from tests.intervene.small_models import some_windows, write_model

HEADS = {
    "bert": [("encoder", 1, 2), ("encoder", 1, 3), ("encoder", 2, 4)],
    "bert-masked": [("encoder", 1, 2), ("encoder", 1, 3), ("encoder", 2, 4)],
    "gpt2": [("decoder", 1, 1), ("decoder", 2, 2), ("decoder", 2, 4)],
    # Heads 1 and 2 share keys and values: a whole group in layer 1, half a one in layer 3.
    "llama": [("decoder", 1, 1), ("decoder", 1, 2), ("decoder", 3, 4)],
    "t5": [("encoder", 1, 1), ("decoder", 2, 3), ("cross", 1, 2)],
}
PLAIN = """
import json, sys, torch, transformers
for folder, family, ids, out in json.loads(sys.argv[1]):
    model = getattr(transformers, family).from_pretrained(folder).eval()
    ids = torch.tensor(ids)
    more = {"decoder_input_ids": ids[:, :5]} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        output = model(input_ids=ids, **more)
    torch.save(output[0], out)
assert "headscope" not in sys.modules
"""
CLASSES = {
    "bert": "BertModel",
    "bert-masked": "BertForMaskedLM",
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "t5": "T5ForConditionalGeneration",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: write_model(name, tmp_path_factory.mktemp(name)) for name in HEADS}


def output(network, ids):
    more = {"decoder_input_ids": ids[:, :5]} if network.config.is_encoder_decoder else {}
    with torch.no_grad():
        return network(input_ids=ids, **more)[0]


def pruned(folders, name, replacement, tmp_path):
    """The folder of a pruned model, what the edited model puts out, why there is no smaller one."""
    model = hs.load_model(folders[name], head=True)
    measured = measure_writes(model, some_windows(), outer=True)
    edits = edits_without(model, HEADS[name], measured, replacement)
    ids = torch.from_numpy(some_windows((11,), seed=9)[0].token_ids).long()[None]
    intact = output(model.model, ids)
    with edited(model, edits):
        expected = output(model.model, ids)
    assert torch.equal(output(model.model, ids), intact), "the model is as it was"
    assert not torch.allclose(expected, intact, atol=1e-3), "the heads matter"
    out = tmp_path / "pruned"
    reason = write_pruned(model, edits, out, {"heads": HEADS[name]})
    return out, ids, expected, reason


WRITTEN = [
    ("bert-masked", "mean"),
    ("gpt2", "least-squares"),
    ("llama", "mean"),
    ("llama", "zero"),
    ("t5", "zero"),
]


@pytest.fixture(scope="module")
def loaded_plainly(folders, tmp_path_factory):
    """By model and replacement: what it should put out, and what transformers alone gives.

    One process for all: most of its time goes to importing transformers.
    """
    expected, found, jobs = {}, {}, []
    for name, replacement in WRITTEN:
        place = tmp_path_factory.mktemp(f"{name}-{replacement}")
        out, ids, expected[name, replacement], _ = pruned(folders, name, replacement, place)
        jobs.append([str(out), CLASSES[name], ids.tolist(), str(place / "output.pt")])
    subprocess.run([sys.executable, "-c", PLAIN, json.dumps(jobs)], check=True)
    for written, (*_, path) in zip(WRITTEN, jobs, strict=True):
        found[written] = torch.load(path, weights_only=True)
    return expected, found


@pytest.mark.parametrize(("name", "replacement"), WRITTEN)
def test_the_folder_loads_without_headscope_and_is_the_model_that_was_judged(
    name, replacement, loaded_plainly
):
    expected, found = loaded_plainly
    assert torch.allclose(
        found[name, replacement], expected[name, replacement], rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_a_smaller_model_puts_out_the_same_with_fewer_weights(folders, name, tmp_path):
    out, ids, expected, reason = pruned(folders, name, "mean", tmp_path)
    assert reason is None
    smaller = hs.load_model(out / "smaller", head=True)
    assert torch.allclose(output(smaller.model, ids), expected, atol=1e-5)
    whole = hs.load_model(out, head=True)
    assert smaller.n_parameters < whole.n_parameters
    heads = [site.heads for site in smaller.sites]
    assert heads == ([2, 3] if name == "bert" else [2, 4, 4])


def test_the_five_lines_in_the_readme_load_the_smaller_model(folders, tmp_path):
    out, ids, expected, _ = pruned(folders, "llama", "mean", tmp_path)
    readme = (out / "smaller" / "README.md").read_text()
    program = readme.partition("```python\n")[2].partition("```")[0]
    names = {"folder": str(out / "smaller")}
    exec(program, names)
    assert torch.allclose(output(names["model"], ids), expected, atol=1e-5)


def test_an_untrained_smaller_model_has_its_shapes(folders, tmp_path):
    out, *_ = pruned(folders, "bert", "mean", tmp_path)
    smaller = hs.load_model(out / "smaller")
    assert [site.heads for site in smaller.untrained(0).sites] == [2, 3]


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_a_family_whose_shapes_do_not_allow_it_says_why(folders, name, tmp_path):
    replacement = "zero" if name == "t5" else "mean"
    out, _, _, reason = pruned(folders, name, replacement, tmp_path)
    assert reason
    assert not (out / "smaller").exists()


def test_a_mean_that_no_bias_can_hold_is_refused_and_nothing_is_left(folders, tmp_path):
    with pytest.raises(ModelError, match="--replace zero"):
        pruned(folders, "t5", "mean", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_not_overwritten(folders, tmp_path):
    (tmp_path / "pruned").mkdir()
    (tmp_path / "pruned" / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match="is there already"):
        pruned(folders, "bert", "mean", tmp_path)
    assert (tmp_path / "pruned" / "thesis.txt").read_text() == "mine"


def test_smaller_weights_are_only_taken_from_a_folder_that_says_so(folders, tmp_path):
    out, *_ = pruned(folders, "bert", "mean", tmp_path)
    notes = out / "smaller" / "heads.json"
    assert json.loads(notes.read_text())["smaller"] is True
    notes.unlink()
    with pytest.raises(ModelError, match="config"):
        hs.load_model(out / "smaller")


def test_tensors_that_are_not_changed_are_the_same_bit_for_bit(folders, tmp_path):
    from safetensors.torch import load_file

    out, *_ = pruned(folders, "t5", "zero", tmp_path)
    before = load_file(folders["t5"] / "model.safetensors")
    after = load_file(out / "model.safetensors")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert before.keys() == after.keys()
    assert len(changed) == 3
