"""beyond-attention on layers that kernels measure: it must fail where C is a function of A."""

import itertools
import json

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

import headscope as hs
from headscope.findings.claims import CLAIMS, Evidence, find
from headscope.findings.claims.gather import SampledRun, StackEvidence
from headscope.findings.claims.verdict import Choice
from headscope.findings.resampling.bootstrap import draw_documents
from headscope.findings.resampling.resampled_run import ResampledRun
from headscope.kernels.token_rows import column_mass
from headscope.measuring.choices import ChoiceCollector
from headscope.measuring.sample import share_of_seed
from headscope.models.site import AttentionSite, LayerCapture
from headscope.settings import Settings
from tests.compare.tiny_bert import TEXTS, loaded
from tests.kernels.random_layers import padded_batch, random_text
from tests.naive import NaiveText

DOCUMENTS, TOKENS, LAYERS, HEADS, SEEDS = 24, 34, 3, 2, 4
SETTINGS = Settings(window_tokens=TOKENS)
SITES = [
    AttentionSite("encoder", layer, f"layer.{layer}", HEADS, TOKENS, False, "interface")
    for layer in range(1, LAYERS + 1)
]


def random_attention(rng: np.random.Generator, texts: list[NaiveText]) -> torch.Tensor:
    scores = rng.normal(0, 2, (len(texts), HEADS, TOKENS, TOKENS))
    return torch.tensor(scores).softmax(-1)


def attention_to_repetitions(rng: np.random.Generator, texts: list[NaiveText]) -> torch.Tensor:
    """Attention that looks for the same token and for the same sentence."""
    scores = rng.normal(0, 0.5, (len(texts), HEADS, TOKENS, TOKENS))
    for scored, text in zip(scores, texts, strict=True):
        token, sentence = np.array(text.token_ids), np.array(text.sentence_ids)
        scored += 2.0 * (token[:, None] == token) + (sentence[:, None] == sentence)
    return torch.tensor(scores).softmax(-1)


def attention_itself(rng, texts: list[NaiveText], attention: torch.Tensor) -> torch.Tensor:
    """Values that are the attention rows: Z = A, so that C is a function of A."""
    return attention


def random_output(rng, texts: list[NaiveText], attention: torch.Tensor) -> torch.Tensor:
    return torch.tensor(rng.normal(size=(len(texts), HEADS, TOKENS, TOKENS)))


def bound_tokens(rng, texts: list[NaiveText], attention: torch.Tensor) -> torch.Tensor:
    """Outputs that are alike where the token is the same, whatever attention shows."""
    output = 0.3 * rng.normal(size=(len(texts), HEADS, TOKENS, TOKENS))
    for vectors, text in zip(output, texts, strict=True):
        vectors[:, np.arange(TOKENS), np.array(text.token_ids)] += 3.0
    return torch.tensor(output)


def measured(rng, texts: list[NaiveText], numbers: np.ndarray, attend, write) -> SampledRun:
    """What a model of three layers shows under every choice."""
    collector = ChoiceCollector(numbers, SITES, SETTINGS)
    batch = padded_batch(texts, SETTINGS)
    reader = collector.reader(batch)
    for site in SITES:
        attention = attend(rng, texts)
        capture = LayerCapture(site, write(rng, texts, attention), attention)
        mass = column_mass(attention, batch.queries.real)
        collector.add(capture, mass, reader, range(len(texts)))
    return SampledRun(collector.tables(), numbers)


def evidence_of(attend, write, untrained_write) -> StackEvidence:
    rng = np.random.default_rng(5)
    texts = [random_text(rng, TOKENS) for _ in range(DOCUMENTS)]
    every = np.arange(DOCUMENTS)
    draws = draw_documents(DOCUMENTS, 0)
    trained = measured(rng, texts, every, attend, write)
    untrained = []
    for seed in range(SEEDS):
        share = share_of_seed(every, 12, seed)
        read = [texts[number] for number in share]
        untrained.append(measured(rng, read, share, random_attention, untrained_write))
    layers = tuple(site.layer for site in SITES)
    own = Evidence("encoder", ResampledRun({}, draws, layers, np.ones(DOCUMENTS, int)), (), LAYERS)
    grid = np.array([(layer, head) for layer in range(LAYERS) for head in range(HEADS)])
    return StackEvidence(own, Choice(), draws, grid, trained, untrained, None)


def statuses(evidence: StackEvidence) -> dict[Choice, str]:
    choices = evidence.choices("pairs")
    assert len(choices) == 3 * 10
    claim = CLAIMS["beyond-attention"]
    return {choice: find(claim, evidence.under(choice)).status for choice in choices}


@pytest.mark.parametrize("attend", [random_attention, attention_to_repetitions])
def test_it_fails_under_every_choice_where_values_are_the_attention_rows(attend):
    evidence = evidence_of(attend, attention_itself, attention_itself)
    assert set(statuses(evidence).values()) == {"fails"}
    for choice in evidence.choices("pairs"):
        run = evidence.under(choice).run
        assert run.total("row_shared") == run.total("pairs") > 0


def test_texts_without_structure_do_not_hold_and_the_numbers_say_why():
    evidence = evidence_of(random_attention, random_output, random_output)
    found = statuses(evidence)
    assert "holds" not in found.values()
    assert "fails" in found.values()
    for choice, status in found.items():
        finding = find(CLAIMS["beyond-attention"], evidence.under(choice))
        if status == "undecided":
            # Too few pairs: an interval reaches from below the least that counts to above it.
            assert any(test.effect.low < test.bar < test.effect.high for test in finding.tests)
            assert finding.effect.percent in finding.summary


def test_it_holds_where_outputs_bind_what_attention_does_not():
    evidence = evidence_of(random_attention, bound_tokens, random_output)
    assert set(statuses(evidence).values()) == {"holds"}


def test_it_fails_where_attention_shows_the_structure_and_outputs_do_not():
    evidence = evidence_of(attention_to_repetitions, random_output, random_output)
    assert "holds" not in statuses(evidence).values()
    assert statuses(evidence)[Choice(pairs="top:0.05", similarity="raw")] == "fails"


POSITIONS, WORD = 48, 16


def model_whose_values_are_positions() -> BertModel:
    """Each token's value is a unit vector of its position, so that Z is A, in every layer.

    A hidden state is (position, word), of mean 0 and of one length for all tokens, so that layer
    norms only scale it; attention and feed-forward layers add nothing to it.
    """
    size = POSITIONS + WORD
    config = BertConfig(
        vocab_size=200,
        hidden_size=size,
        intermediate_size=8,
        num_hidden_layers=LAYERS,
        num_attention_heads=1,
        max_position_embeddings=POSITIONS,
    )
    torch.manual_seed(1)
    model = BertModel(config).eval()
    words = torch.randn(config.vocab_size, WORD)
    words = words - words.mean(-1, keepdim=True)
    words = 2 * words / words.norm(dim=-1, keepdim=True) - 1 / WORD
    with torch.no_grad():
        embeddings = model.embeddings
        for table in (embeddings.word_embeddings, embeddings.token_type_embeddings):
            table.weight.zero_()
        embeddings.word_embeddings.weight[:, POSITIONS:] = words
        embeddings.position_embeddings.weight.copy_(torch.eye(POSITIONS, size))
        for layer in model.encoder.layer:
            attention = layer.attention.self
            attention.query.weight.normal_(0, 0.15)
            # Keys that are like the queries: tokens look for themselves.
            attention.key.weight.copy_(attention.query.weight + torch.randn(size, size) * 0.1)
            attention.value.weight.copy_(torch.eye(size))
            attention.value.weight[POSITIONS:] = 0
            for nothing in (layer.attention.output.dense, layer.output.dense):
                nothing.weight.zero_()
    return model


def test_it_fails_on_a_model_whose_values_are_the_attention_rows(tmp_path):
    """The whole way: a model is built, a corpus is analysed, and the run is judged."""
    starts = [" ".join(pair) for pair in itertools.permutations(TEXTS, 2)]
    corpus = tmp_path / "texts.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in starts))
    model = loaded(model_whose_values_are_positions())
    run = hs.analyze(
        model,
        corpus,
        out=tmp_path / "run",
        window=POSITIONS,
        nulls=10,
        null_seeds=3,
        robustness=30,
        report=False,
        progress=False,
    )
    view = hs.look(model, starts[0], window=POSITIONS)
    written = view.head_output[..., : len(view.tokens)]
    np.testing.assert_allclose(
        written / written.sum(-1, keepdims=True), view.attention, rtol=1e-3, atol=1e-6
    )
    (verdict,) = [one for one in run.claims() if one.name == "beyond-attention"]
    assert verdict.status == "fails"
    assert verdict.robustness.count("holds") == 0
    assert verdict.robustness.count("fails") > 20
