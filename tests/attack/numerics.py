"""Hostile numbers: weights that are NaN, infinite, huge, tiny or zero, and texts of one token.

Every window is measured or left out by name; no result is infinite; and the windows that a healthy
part of the weights measures are the same as ever.
"""

import copy
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch

import headscope as hs
from headscope.models.loaded import LoadedModel
from tests.attack.case import Case
from tests.compare.tiny_bert import TEXTS, loaded, tiny_bert

CATEGORY = "numerics"
VALUES = [
    float("nan"),
    float("inf"),
    -float("inf"),
    0.0,
    -0.0,
    1e-45,  # the smallest float32: denormal
    1e-38,
    1e20,
    3e38,
    -3e38,
    1e6,
]


def cases(seed: int, number: int, folder: Path) -> Iterator[Case]:
    """So many models and texts; the same for the same seed.

    Args:
        seed: Of all that is random.
        number: How many.
        folder: An empty folder.
    """
    _analyse(_healthy(), folder / "healthy", minimal=False)  # loads compiled code, before a fork
    for place in range(number):
        name = f"{seed}-{place}"
        yield Case(f"{name}: weights and texts", partial(_attack, folder / name, name))


@cache
def _healthy() -> LoadedModel:
    return loaded(tiny_bert())


def _attack(folder: Path, seed: str) -> None:
    chance = random.Random(seed)
    model = copy.deepcopy(tiny_bert())
    _spoil(model, chance)
    texts = _texts(chance)
    _check(_analyse(loaded(model), folder, texts, minimal=chance.random() < 0.8))


def _analyse(
    model: LoadedModel, folder: Path, texts: Sequence[str] = TEXTS, *, minimal: bool
) -> hs.Run:
    folder.mkdir(parents=True)
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return hs.analyze(
        model,
        corpus,
        out=folder / "run",
        window=32,
        min_tokens=2,
        shard_windows=4,
        nulls=0,
        report=False,
        progress=False,
        minimal=minimal,
    )


def _spoil(model: torch.nn.Module, chance: random.Random) -> None:
    """Put a value into one number, a row, a matrix, or all weights."""
    parameters = list(model.parameters())
    with torch.no_grad():
        for parameter in chance.sample(parameters, chance.choice([0, 1, 1, 2, len(parameters)])):
            value = chance.choice(VALUES)
            flat = parameter.view(-1)
            size = chance.choice([1, min(24, len(flat)), len(flat)])
            start = chance.randrange(len(flat) - size + 1)
            if chance.random() < 0.3:
                flat[start : start + size] *= chance.choice([1e10, 1e-30, -1.0, 0.0])
            else:
                flat[start : start + size] = value


def _texts(chance: random.Random) -> list[str]:
    """Texts among which some are a single word, or one sign, again and again."""
    odd = ["the " * 60, "." * 40, "mat mat", "the cat " * 30, "? ! " * 20, "zzz " * 40]
    return [chance.choice([*TEXTS, *odd]) for _ in range(6)]


def _check(run: hs.Run) -> None:
    windows = run.manifest.corpus.windows
    rows = run.rows().to_table().to_pandas()
    places = ["shard", "text"] if "shard" in rows else ["text"]
    measured = len(rows[places].drop_duplicates())
    left_out = len(run.left_out)
    assert measured + left_out == windows, f"{measured} + {left_out} of {windows} windows"
    for table in (run.heads, run.layers, rows):
        values = table.select_dtypes("number").to_numpy(np.float64)
        assert not np.isinf(values).any(), "an infinite result"
    shares = [name for name in run.heads if name in ("same_sentence", "repetition", "mean_share")]
    for name in shares:
        found = run.heads[name].dropna()
        assert ((found >= -1e-6) & (found <= 1 + 1e-6)).all(), f"{name} is no share"
