"""`hs.ablate` against a plain loop over forward pre-hooks that knows no headscope."""

import json
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
)

import headscope as hs
from headscope.cli import main
from headscope.errors import CorpusError, RunError, SettingsError
from headscope.measuring.outcome import Outcome
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import Manifest
from tests.intervene.small_models import write_model

TEXTS = [
    "The cat sat on the mat. The dog, however, did not sit on it, and went away.",
    "Words repeat, words return, and the same words end a sentence about words.",
    "He said the same words to the dog. Did the dog sit? It did not sit on the mat.",
    "A sentence, and a sentence, and the end of a sentence, which is the last one.",
    "Cups, mats, cats and dogs in cafes: do they not sit there for a whole day?",
    "Yes, he said. The naive dog sat on the cup, however, and broke it in two.",
]
OPTIONS = {"window": 12, "min_tokens": 6, "texts": None, "progress": False, "batch_tokens": 48}
PROJECTIONS = {
    "bert": "attention.output.dense",
    "bert-masked": "attention.output.dense",
    "gpt2": "attn.c_proj",
    "llama": "self_attn.o_proj",
    "t5": "Attention.o",
}
PLAIN = {
    "bert": AutoModel,
    "bert-masked": AutoModelForMaskedLM,
    "gpt2": AutoModelForCausalLM,
    "llama": AutoModelForCausalLM,
    "t5": AutoModelForSeq2SeqLM,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}

    def folder(name):
        if name not in made:
            made[name] = write_model(name, tmp_path_factory.mktemp(name))
        return made[name]

    return folder


def projections_in_order(model, ending, inputs):
    """The modules that take joined heads, as they run."""
    order = []
    hooks = [
        module.register_forward_pre_hook(lambda one, _: order.append(one))
        for name, module in model.named_modules()
        if name.endswith(ending)
    ]
    with torch.no_grad():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    return order


def without_head(model, projection, heads, head, inputs):
    """The output while the input of a projection has one head's slice set to zero."""

    def drop(_, given):
        joined = given[0].clone()
        joined.view(*joined.shape[:-1], heads, -1)[..., head, :] = 0
        return (joined,)

    hook = projection.register_forward_pre_hook(drop)
    try:
        with torch.no_grad():
            return model(**inputs)
    finally:
        hook.remove()


def plain_effects(kind, output, intact, batch, row):
    """Loss and divergence, or change of states, of one window, in plain formulas."""
    scored = batch.scored[row]
    if kind == "states":
        new, old = (each.last_hidden_state[0].double()[scored] for each in (output, intact))
        pooled = torch.cosine_similarity(new.mean(0), old.mean(0), dim=0)
        drift = (new - old).pow(2).sum() / old.pow(2).sum()
        return {"pooled": float(1 - pooled), "drift": float(drift)}
    new, old = (each.logits[0].double()[scored].log_softmax(-1) for each in (output, intact))
    targets = batch.targets[row][scored]
    loss = [-float(new[place, token]) for place, token in enumerate(targets.tolist())]
    before = [-float(old[place, token]) for place, token in enumerate(targets.tolist())]
    kl = (old.exp() * (old - new)).sum(-1)
    return {
        "loss_increase": sum(loss) - sum(before),
        "kl": float(kl.sum()),
        "scored": len(loss),
        "loss": sum(before),
    }


def plain_loop(result, model, plain, ending, heads_of, wanted):
    """For some heads, the effects over all windows of a study, one window and head at a time."""
    run = RunFolder(result.folder, Manifest.read(result.folder))
    windows = [w for number in range(run.manifest.shards) for w in run.read_windows(number)]
    outcome = Outcome(model)
    totals = {place: [] for place in wanted}
    for window in windows:
        batch = outcome.prepare([window])
        inputs = dict(batch.inputs)
        with torch.no_grad():
            intact = plain(**inputs)
        order = projections_in_order(plain, ending, inputs)
        for place, head in wanted:
            output = without_head(plain, order[place], heads_of[place], head, inputs)
            totals[place, head].append(plain_effects(outcome.kind, output, intact, batch, 0))
    effects = {}
    for key, parts in totals.items():
        names = [name for name in parts[0] if name != "scored"]
        below = sum(part.get("scored", 1) for part in parts)
        effects[key] = {name: sum(part[name] for part in parts) / below for name in names}
    return effects


def assert_equal(result, effects, sites):
    by_head = {(head.stack, head.layer, head.head): head for head in result.heads}
    for (place, head), expected in effects.items():
        ours = by_head[sites[place].stack, sites[place].layer, head + 1].effects
        for name, effect in ours.items():
            assert effect.value == pytest.approx(expected[name], abs=1e-5, rel=1e-4), name
            assert result.documents < 2 or effect.low <= effect.value <= effect.high
        if result.loss is not None:
            assert result.loss.value == pytest.approx(expected["loss"], abs=1e-5, rel=1e-5)


@pytest.mark.parametrize("name", PLAIN)
def test_it_equals_a_plain_loop_over_pre_hooks(name, folders, corpus, tmp_path):
    """One head of each layer of each stack."""
    folder = folders(name)
    model = hs.load_model(folder, head=True)
    result = hs.ablate(model, corpus, out=tmp_path / "study", **{**OPTIONS, "texts": 5})
    assert len(result.heads) == sum(site.heads for site in model.sites)
    plain = PLAIN[name].from_pretrained(folder).eval()
    wanted = [(place, 1 + 2 * (place % 2)) for place in range(len(model.sites))]
    heads_of = [site.heads for site in model.sites]
    effects = plain_loop(result, model, plain, PROJECTIONS[name], heads_of, wanted)
    assert_equal(result, effects, model.sites)
    spread = [effects[key]["kl" if "kl" in effects[key] else "pooled"] for key in wanted]
    assert max(spread) > 10 * 1e-5, "too small to tell heads apart"


CHECKPOINTS = {
    "smollm2": (AutoModelForCausalLM, "self_attn.o_proj", [(1, 4), (29, 0)]),
    "mpnet": (AutoModel, "attention.attn.o", [(0, 3), (11, 11)]),
    "opusmt": (AutoModelForSeq2SeqLM, "attn.out_proj", [(0, 2), (17, 7)]),
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_real_checkpoints_equal_the_plain_loop(name, checkpoint, corpus, tmp_path):
    """Two heads: one of the first layers, one of the last."""
    plain_class, ending, wanted = CHECKPOINTS[name]
    folder = checkpoint(name)
    model = hs.load_model(folder, head=True)
    layers = sorted({model.sites[place].layer for place, _ in wanted})
    options = {**OPTIONS, "texts": 2, "first": True, "layers": layers}
    result = hs.ablate(model, corpus, out=tmp_path / "study", **options)
    plain = plain_class.from_pretrained(folder, dtype=torch.float32).eval()
    heads_of = [site.heads for site in model.sites]
    effects = plain_loop(result, model, plain, ending, heads_of, wanted)
    assert_equal(result, effects, model.sites)


def test_a_resumed_study_equals_an_uninterrupted_one(folders, corpus, tmp_path):
    whole = hs.ablate(folders("gpt2"), corpus, out=tmp_path / "whole", **OPTIONS, shard_windows=3)
    part = shutil.copytree(tmp_path / "whole", tmp_path / "part")
    for path in (part / "shards").glob("00001.*"):
        path.unlink()
    resumed = hs.ablate(folders("gpt2"), corpus, out=part, **OPTIONS, shard_windows=3)
    assert resumed.to_json() == whole.to_json()
    assert json.loads((part / "study.json").read_text()) == whole.to_json()
    with pytest.raises(RunError, match="holds another run"):
        hs.ablate(folders("llama"), corpus, out=part, **OPTIONS, shard_windows=3)
    with pytest.raises(RunError, match=r"holds another run.*study"):
        hs.ablate(
            folders("gpt2"), corpus, out=part, approximate="write", **OPTIONS, shard_windows=3
        )


def test_a_head_that_writes_nothing_costs_nothing(folders, corpus, tmp_path):
    """And is not among those that matter; what is planted is found."""
    model = hs.load_model(folders("gpt2"), head=True)
    with torch.no_grad():
        weight = model.model.transformer.h[0].attn.c_proj.weight  # joined heads, d_model
        weight[4:8] = 0
    result = hs.ablate(model, corpus, out=tmp_path / "study", **OPTIONS)
    table = result.table.set_index(["layer", "head"])
    assert abs(table.loc[(1, 2), "loss_increase"]) < 1e-6
    assert abs(table.loc[(1, 2), "kl"]) < 1e-6
    assert not table.loc[(1, 2), "matters"]
    assert table["kl"].drop(index=(1, 2)).min() > 1e-6


@pytest.mark.parametrize("by", ["write", "gradient"])
def test_one_pass_ranks_heads_about_as_the_loop_does(by, folders, corpus, tmp_path):
    exact = hs.ablate(folders("llama"), corpus, out=tmp_path / "exact", **OPTIONS)
    quick = hs.ablate(folders("llama"), corpus, out=tmp_path / by, approximate=by, **OPTIONS)
    one, other = exact.table, quick.table
    assert one[["stack", "layer", "head"]].equals(other[["stack", "layer", "head"]])
    ranks = np.corrcoef(one["kl"].rank(), other["score"].rank())[0, 1]
    assert ranks > 0.3
    assert quick.loss is None
    assert quick.to_json()["heads"][0]["score"]["value"] > 0


def test_without_a_loss_there_is_no_gradient(folders, corpus, tmp_path):
    with pytest.raises(SettingsError, match="no loss"):
        hs.ablate(folders("bert"), corpus, out=tmp_path, approximate="gradient", **OPTIONS)
    with pytest.raises(SettingsError, match="'fast' is unknown"):
        hs.ablate(folders("bert"), corpus, out=tmp_path, approximate="fast", **OPTIONS)
    with pytest.raises(SettingsError, match="0 is too few"):
        hs.ablate(folders("bert"), corpus, out=tmp_path, **{**OPTIONS, "texts": 0})
    with pytest.raises(TypeError, match="similarity"):
        hs.ablate(folders("bert"), corpus, out=tmp_path, similarity="raw", **OPTIONS)


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["headscope", "ablate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_the_command_prints_a_table_and_json(folders, corpus, tmp_path, command):
    given = ("-m", folders("gpt2"), "-c", corpus, "-o", tmp_path / "study", "--window", 12)
    code, out, err = command(*given, "--min-tokens", 6, "--texts", 12, "--json", "-q")
    assert code == 0, err
    values = json.loads(out)
    assert set(values) >= {"loss", "unit", "documents", "reliability", "heads"}
    assert values["documents"] == len(TEXTS)
    assert 0 < values["loss"] < 40
    assert values["unit"] == "nats per token"
    assert -1 <= values["reliability"] <= 1
    for head in values["heads"]:
        for name in ("loss_increase", "kl"):
            assert head[name]["low"] <= head[name]["value"] <= head[name]["high"]
        assert (head["stack"], head["layer"] in (1, 2), 1 <= head["head"] <= 4) == (
            "decoder",
            True,
            True,
        )
    code, out, err = command(*given, "--min-tokens", 6, "--texts", 12)
    assert code == 0, err
    for words in ("loss increase", "KL to intact", "reliability of the ranking", "loss of the"):
        assert words in out
    code, _, err = command(*given, "--min-tokens", 6, "--texts", 11)
    assert code != 0
    assert "holds another run" in err
    code, _, err = command(*given, "--layers", 9, "-o", tmp_path / "other")
    assert code == 2
    assert "layers 1 to 2, not 9" in err


def test_one_document_has_a_value_and_no_interval(folders, tmp_path, command):
    text = tmp_path / "one.txt"
    text.write_text(TEXTS[0])
    result = hs.ablate(folders("gpt2"), text, out=tmp_path / "study", **OPTIONS)
    assert result.documents == 1
    assert np.isnan(result.reliability["kl"])
    assert np.isnan(result.heads[0].effects["kl"].low)
    assert not any(head.matters for head in result.heads)
    assert result.to_json()["reliability"] is None
    given = ("-m", folders("gpt2"), "-c", text, "-n", 64, "--window", 12)
    code, out, err = command(*given, "--min-tokens", 6, "-o", tmp_path / "other", "-q")
    assert code == 0, err
    assert "No intervals" in out
    assert "above zero" not in out


def test_a_list_of_texts_gives_what_the_file_gives(folders, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from_file = hs.ablate(folders("gpt2"), corpus, out=tmp_path / "file", **OPTIONS)
    in_memory = hs.ablate(folders("gpt2"), TEXTS, **OPTIONS)
    assert in_memory.table.equals(from_file.table)
    assert in_memory.corpus == f"{len(TEXTS)} texts in memory"
    assert in_memory.folder.name.startswith("ablate-")
    assert hs.ablate(folders("gpt2"), TEXTS, **OPTIONS).to_json() == in_memory.to_json()
    table = pd.DataFrame({"body": TEXTS})
    named = hs.ablate(folders("gpt2"), table, text_column="body", out=tmp_path / "table", **OPTIONS)
    assert named.table.equals(from_file.table)


def test_a_corpus_that_is_none_is_refused(folders):
    with pytest.raises(CorpusError, match="empty list"):
        hs.ablate(folders("gpt2"), [], **OPTIONS)
    with pytest.raises(CorpusError, match="mixes names and texts"):
        hs.ablate(folders("gpt2"), ["demo", TEXTS[0]], **OPTIONS)
