"""`hs.lens` against hidden states of the eager model, taken through its head by hand."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

import headscope as hs
from headscope.measuring.outcome import Outcome
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import Manifest
from tests.intervene.small_models import write_model
from tests.lens.texts import OPTIONS, write_texts


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("corpus"))


def t5_head(model, states):
    states = model.decoder.final_layer_norm(states)
    if model.config.scale_decoder_outputs:
        states = states * model.model_dim**-0.5
    return model.lm_head(states)


FAMILIES = {
    # How a state that its last block puts out becomes logits, and whether transformers gives the
    # last of its hidden states after the final norm.
    "bert-masked": (AutoModelForMaskedLM, lambda m, s: m.cls(s), False),
    "roberta": (AutoModelForMaskedLM, lambda m, s: m.lm_head(s), False),
    "modernbert": (
        AutoModelForMaskedLM,
        lambda m, s: m.decoder(m.head(m.model.final_norm(s))),
        True,
    ),
    "gpt2": (AutoModelForCausalLM, lambda m, s: m.lm_head(m.transformer.ln_f(s)), True),
    "llama": (AutoModelForCausalLM, lambda m, s: m.lm_head(m.model.norm(s)), True),
    "t5": (AutoModelForSeq2SeqLM, t5_head, True),
}
CHECKPOINTS = {
    "smollm2": FAMILIES["llama"],
    "flant5": FAMILIES["t5"],
    "opusmt": (
        AutoModelForSeq2SeqLM,
        lambda m, s: m.lm_head(s) + m.final_logits_bias,
        False,
    ),
}


def plain_logits(plain, through_head, normed, inputs):
    """The logits of the embeddings and of every layer, for one window."""
    with torch.no_grad():
        output = plain(**inputs, output_hidden_states=True)
        states = getattr(output, "decoder_hidden_states", None) or output.hidden_states
        found = [through_head(plain, state) for state in states[:-1]]
        # A final norm twice would be wrong: the last layer is the model's own answer.
        found.append(output.logits if normed else through_head(plain, states[-1]))
    return torch.stack([logits[0] for logits in found]).double()


def plain_scores(logits, last, target):
    """The scores of one position and layer, by their definitions."""
    p, q = logits.softmax(-1), last.softmax(-1)
    log_p, log_q = logits.log_softmax(-1), last.log_softmax(-1)
    return {
        "entropy": float(-(p * log_p).sum()),
        "cross_entropy": float(-log_p[target]),
        "accuracy": float(logits.argmax() == target),
        "rank": float(np.log(1 + int((logits > logits[target]).sum()))),
        "kl": float((q * (log_q - log_p)).sum()),
    }


def windows_of(result):
    run = RunFolder(result.folder, Manifest.read(result.folder))
    return [w for number in range(run.manifest.shards) for w in run.read_windows(number)]


def assert_equal_to_plain(result, model, folder, family, tolerance=1e-4):
    plain_class, through_head, normed = family
    plain = plain_class.from_pretrained(
        folder, dtype=model.dtype, attn_implementation="eager"
    ).eval()
    outcome = Outcome(model)
    found = {"lens": [], "lens_unmasked": []}
    own_losses, own_tokens = 0.0, 0
    for window in windows_of(result):
        batch = outcome.prepare([window])
        inputs, targets = dict(batch.inputs), batch.targets[0]
        logits = plain_logits(plain, through_head, normed, inputs)
        groups = {"lens": batch.scored[0]}
        if outcome.kind == "masked":
            visible = torch.from_numpy(~window.special) & ~batch.scored[0]
            groups["lens_unmasked"] = visible
        for name, scored in groups.items():
            for place in scored.nonzero()[:, 0].tolist():
                target = int(targets[place])
                last = logits[-1, place]
                found[name].append(
                    [plain_scores(of_layer[place], last, target) for of_layer in logits]
                )
        # The model's own loss, but in double precision: torch's softmax over 49,152 tokens in
        # single precision is off by 1.5e-5 nats.
        with torch.no_grad():
            own = plain(**inputs).logits[0].double()
        labels = targets.masked_fill(~batch.scored[0], -100)
        loss = torch.nn.functional.cross_entropy(own, labels, reduction="sum")
        own_losses += float(loss)
        own_tokens += int(batch.scored.sum())
    assert result.positions == own_tokens
    last_loss = result.layers[-1].readings["lens"]["cross_entropy"].value
    assert last_loss == pytest.approx(own_losses / own_tokens, abs=1e-5)
    for place, layer in enumerate(result.layers):
        assert layer.layer == place
        for name, scores in layer.readings.items():
            of_layer = [position[place] for position in found[name]]
            for score in ("entropy", "cross_entropy", "accuracy", "rank", "kl"):
                expected = np.mean([one[score] for one in of_layer])
                value = scores[score].value
                value = np.log(value) if score == "rank" else value
                assert value == pytest.approx(expected, abs=tolerance, rel=1e-6), (place, score)
    spread = [layer.readings["lens"]["cross_entropy"].value for layer in result.layers]
    assert np.ptp(spread) > 10 * tolerance, "too small to tell layers apart"


@pytest.mark.parametrize("name", FAMILIES)
def test_every_layer_equals_hidden_states_through_the_head(name, corpus, tmp_path):
    folder = write_model(name, tmp_path / "model")
    model = hs.load_model(folder, head=True)
    # A random T5 writes on and on: two windows are enough.
    options = {**OPTIONS, "texts": 2 if name == "t5" else 4, "first": True}
    result = hs.lens(model, corpus, positions=None, out=tmp_path / "study", **options)
    assert_equal_to_plain(result, model, folder, FAMILIES[name])
    masked = FAMILIES[name][0] is AutoModelForMaskedLM
    assert set(result.layers[0].readings) == ({"lens", "lens_unmasked"} if masked else {"lens"})


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_real_checkpoints_equal_hidden_states_through_the_head(name, checkpoint, corpus, tmp_path):
    folder = checkpoint(name)
    model = hs.load_model(folder, head=True)
    options = {**OPTIONS, "texts": 2, "first": True}
    result = hs.lens(model, corpus, positions=None, out=tmp_path / "study", **options)
    assert_equal_to_plain(result, model, folder, CHECKPOINTS[name])
