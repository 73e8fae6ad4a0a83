"""Models that are built to look back, and texts with phrases at known distances."""

import numpy as np
import torch
from transformers import GPT2Config, GPT2Model, MistralConfig, MistralModel

from headscope.findings.reach.result import ReachResult
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.reach.measure import reach_sites
from headscope.reach.plan import ReachPlan
from headscope.reach.study import ReachStudy
from headscope.text.kinds import TokenKind
from headscope.text.windows import Window

CODE = 64
VOCABULARY = 600
RARE = 400
"""Tokens from here on are in no text unless planted."""


def copying_model() -> LoadedModel:
    """One layer: head 1 attends to the same token earlier on and writes where, head 2 averages.

    Tokens and positions have codes in separate halves of the embedding. Head 1 compares tokens and
    reads positions; head 2 attends to all earlier tokens alike and reads tokens.
    """
    rng = np.random.default_rng(0)
    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=512, n_embd=2 * CODE, n_layer=1, n_head=2
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = GPT2Model(config)

    def codes(number: int) -> torch.Tensor:
        signs = np.repeat([-1.0, 1.0], CODE // 2)
        return torch.tensor(np.stack([rng.permutation(signs) for _ in range(number)])).float()

    with torch.no_grad():
        model.wte.weight.zero_()[:, :CODE] = codes(VOCABULARY)
        model.wpe.weight.zero_()[:, CODE:] = codes(512)
        attention = model.h[0].attn
        attention.c_attn.bias.zero_()
        weights = attention.c_attn.weight.zero_()
        same = torch.eye(CODE)
        token, position, d = slice(0, CODE), slice(CODE, 2 * CODE), 2 * CODE
        weights[token, 0:CODE] = 2 * same  # queries of head 1: which token
        weights[token, d : d + CODE] = 2 * same  # its keys: which token
        weights[position, 2 * d : 2 * d + CODE] = same  # its values: where
        weights[token, 2 * d + CODE : 3 * d] = same  # values of head 2: which token
    return load_model(model)


def copying_and_reading_model() -> LoadedModel:
    """Two layers: that of `copying_model`, and one whose head 1 attends to its own token.

    What head 1 found, it writes into a third part of the embedding, whence the second layer reads.
    """
    first = copying_model().model
    d, parts = 3 * CODE, {"token": 0, "position": CODE, "found": 2 * CODE}
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=512, n_embd=d, n_layer=2, n_head=3)
    model = GPT2Model(config)
    same = torch.eye(CODE)

    def link(weights: torch.Tensor, source: str, column: int, strength: float) -> None:
        weights[parts[source] : parts[source] + CODE, column : column + CODE] = strength * same

    with torch.no_grad():
        for block in model.h:
            for module in (block.attn.c_attn, block.attn.c_proj, block.mlp.c_proj):
                module.weight.zero_()
                module.bias.zero_()
        model.wte.weight.zero_()[:, :CODE] = first.wte.weight[:, :CODE]
        model.wpe.weight.zero_()[:, CODE : 2 * CODE] = first.wpe.weight[:, CODE:]
        looks, reads = model.h[0].attn, model.h[1].attn.c_attn.weight
        link(looks.c_attn.weight, "token", 0, 2.0)  # queries of head 1: which token
        link(looks.c_attn.weight, "token", d, 2.0)  # its keys: which token
        link(looks.c_attn.weight, "position", 2 * d, 1.0)  # its values: where
        looks.c_proj.weight[:CODE, 2 * CODE :] = 2 * same
        link(reads, "position", 0, 2.0)  # layer 2, head 1: which place
        link(reads, "position", d, 2.0)  # its keys: which place
        link(reads, "found", 2 * d, 1.0)  # its values: what was found there
        for head in (1, 2):  # of both layers: attend to all earlier tokens alike, and read tokens
            link(looks.c_attn.weight, "token", 2 * d + head * CODE, 1.0)
            link(reads, "token", 2 * d + head * CODE, 1.0)
    return load_model(model)


def random_model(seed: int = 0) -> LoadedModel:
    """An untrained model of three layers."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = GPT2Config(vocab_size=VOCABULARY, n_positions=512, n_embd=32, n_layer=3, n_head=4)
        return load_model(GPT2Model(config))


def short_sighted_model(sees: int) -> LoadedModel:
    """One layer that sees the last few tokens, itself included."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = MistralConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=4,
            num_key_value_heads=2,
            sliding_window=sees,
        )
        return load_model(MistralModel(config))


def random_windows(
    number: int, tokens: int, seed: int = 0, distance: int | None = None
) -> list[Window]:
    """Windows of random tokens; with a rare phrase twice, across the middle, this far apart."""
    rng = np.random.default_rng(seed)
    windows = []
    for document in range(number):
        ids = rng.integers(4, RARE, tokens)
        if distance is not None:
            phrase = rng.choice(np.arange(RARE, VOCABULARY), 6, replace=False)
            first = tokens // 2 - distance // 2 - 3
            ids[first : first + 6] = ids[first + distance : first + distance + 6] = phrase
        windows.append(window_of(ids, f"document {document}"))
    return windows


def window_of(ids, document: str = "document") -> Window:
    """A window of plain words, in sentences of ten."""
    n = len(ids)
    each = np.arange(n, dtype=np.int32)
    ids = np.asarray(ids).astype(np.int32)
    return Window(
        document=document,
        label=None,
        tokens=tuple(f"w{one}" for one in ids),
        token_ids=ids,
        starts=each,
        ends=each + 1,
        sentence_ids=each // 10,
        word_ids=each,
        form_ids=ids,
        lemma_ids=ids,
        head_ids=ids,
        kinds=np.full(n, int(TokenKind.CONTENT), dtype=np.int32),
    )


def reach_of(model: LoadedModel, windows: list[Window], **options) -> ReachResult:
    """The result of the pairs (0, 1), (2, 3), ... of windows."""
    plan = ReachPlan(window_tokens=windows[0].n_tokens, windows=len(windows), **options)
    study = ReachStudy(model, reach_sites(model, None), plan)
    pairs = [
        study.measure(windows[at : at + 2], lambda steps: None) for at in range(0, len(windows), 2)
    ]
    cells = {name: np.concatenate([pair[name] for pair in pairs]) for name in study.cells}
    return ReachResult(study.evidence(np.arange(len(windows)), cells))
