"""The weights of a segmenter, in memory and on disk: safetensors and JSON, never pickle.

A folder of weights (such as `segment/demo_weights`, which comes with headscope) holds

    segmenter.json          format, model, layers; sizes, calibration, threshold, prior of each mode
    segmenter.safetensors   the arrays of each network, in half precision: MODE.NAME
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from headscope.errors import ModelError, option
from headscope.models.folder import MOST_JSON_BYTES
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.files import write_whole
from headscope.segment.demo_weights import DEMO_WEIGHTS
from headscope.segment.reading.read_heads import read_sites
from headscope.segment.sentences.boundary_net import BoundaryNet, NetShape
from headscope.segment.sentences.decode import LengthPrior
from headscope.segment.sentences.familiarity import Familiarity
from headscope.segment.sentences.mode import MODES, Mode
from headscope.segment.sentences.mode_weights import Calibration, ModeWeights
from headscope.system.untrusted import check_untrusted, open_untrusted

FORMAT = 2


@dataclass(frozen=True, eq=False, slots=True)
class SegmenterWeights:
    """What was learned for each mode, and for which model."""

    model: str
    """Name of the model, for people."""
    weights_hash: str
    """SHA-256 of the weights of the model: the heads of another model write other vectors."""
    layers: tuple[int, ...]
    """The numbers of the layers that are read, from 1."""
    modes: Mapping[Mode, ModeWeights]
    trained_on: str
    """The texts that the weights were trained on, for people."""
    familiarity: Familiarity | None = None
    """Their common tokens: how a text in an unknown language is told."""

    def confidence(self, model: LoadedModel, text: str) -> float:
        """How far a text looks like what was learned from: 0 to 1, and 1 where that is unknown.

        Args:
            model: The model whose tokenizer is used.
            text: The text.
        """
        return self.familiarity.confidence(model, text) if self.familiarity else 1.0

    def sites(self, model: LoadedModel) -> tuple[AttentionSite, ...]:
        """The attention sites of the model that are read.

        Args:
            model: The model that the weights were learned for.

        Raises:
            ModelError: These weights were learned for another model.
        """
        if model.weights_hash != self.weights_hash:
            raise ModelError(
                f"these segmenter weights were learned for {self.model} "
                f"({self.weights_hash[:8]}), not for {model.name} ({model.weights_hash[:8]}); "
                "train with Segmenter.fit(texts, model=...)"
            )
        return read_sites(model, self.layers)

    def save(self, folder: str | Path) -> None:
        """Write both files into a folder.

        Args:
            folder: Created if it does not exist.
        """
        path = Path(folder)
        arrays: dict[str, torch.Tensor] = {}
        for mode, weights in self.modes.items():
            for name, array in weights.net.state_dict().items():
                arrays[f"{mode}.{name}"] = array.half().contiguous()
        write_whole(path / "segmenter.safetensors", save(arrays))
        facts = {
            "format": FORMAT,
            "model": self.model,
            "weights_hash": self.weights_hash,
            "layers": list(self.layers),
            "trained_on": self.trained_on,
            "modes": {mode: _facts(weights) for mode, weights in self.modes.items()},
            "familiarity": asdict(self.familiarity) if self.familiarity else None,
        }
        write_whole(path / "segmenter.json", (json.dumps(facts, indent=2) + "\n").encode())


def load_weights(folder: str | Path) -> SegmenterWeights:
    """The weights in a folder.

    Args:
        folder: Written by `SegmenterWeights.save`.

    Raises:
        ModelError: There are none, or they are damaged.
    """
    path = Path(folder)
    try:
        with open_untrusted(path / "segmenter.json", max_bytes=MOST_JSON_BYTES) as file:
            facts = json.load(file)
        arrays = load_file(check_untrusted(path / "segmenter.safetensors"))
    except FileNotFoundError as error:
        raise ModelError(
            f"no segmenter in {path}: {Path(error.filename).name} is missing; "
            "make one with Segmenter.fit(...).save(folder)"
        ) from None
    except (OSError, ValueError, RecursionError, SafetensorError) as error:
        raise ModelError(
            f"the segmenter in {path} cannot be read ({error}); fit it again"
        ) from error
    try:
        if facts["format"] != FORMAT:
            raise ModelError(
                f"the segmenter in {path} has format {facts['format']}, this version reads "
                f"{FORMAT}; fit it again"
            )
        return SegmenterWeights(
            model=str(facts["model"]),
            weights_hash=str(facts["weights_hash"]),
            layers=tuple(int(layer) for layer in facts["layers"]),
            modes={
                mode: _mode_weights(mode, facts["modes"][mode], arrays)
                for mode in MODES
                if mode in facts["modes"]
            },
            trained_on=str(facts["trained_on"]),
            familiarity=_familiarity(facts.get("familiarity")),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise ModelError(f"the segmenter in {path} is damaged ({error}); fit it again") from error


def find_weights(
    model: LoadedModel, weights: str | Path | SegmenterWeights | None
) -> SegmenterWeights:
    """The given weights, or those that come with headscope.

    Args:
        model: The model that is going to be read.
        weights: Weights, or a folder of them; None for those that come with headscope.

    Raises:
        ModelError: There are none, or they were learned for another model.
    """
    if weights is None:
        weights = load_weights(DEMO_WEIGHTS)
        if weights.weights_hash != model.weights_hash:
            raise ModelError(
                f"no segmenter weights come with headscope for {model.name}; learn them from "
                "plain texts with hs.Segmenter.fit(texts, model=...), or pass "
                f"{option('weights', 'FOLDER')}"
            )
    found = weights if isinstance(weights, SegmenterWeights) else load_weights(weights)
    found.sites(model)
    return found


def _familiarity(facts: Mapping[str, Any] | None) -> Familiarity | None:
    """None for weights that were saved before they said what they were learned from."""
    if facts is None:
        return None
    return Familiarity(tuple(int(token) for token in facts["tokens"]), float(facts["share"]))


def _facts(weights: ModeWeights) -> dict[str, Any]:
    return {
        "shape": asdict(weights.net.shape),
        "calibration": asdict(weights.calibration),
        "threshold": weights.threshold,
        "prior": asdict(weights.prior),
    }


def _mode_weights(
    mode: Mode, facts: Mapping[str, Any], arrays: Mapping[str, torch.Tensor]
) -> ModeWeights:
    net = BoundaryNet(NetShape(**facts["shape"]))
    prefix = f"{mode}."
    net.load_state_dict(
        {
            name.removeprefix(prefix): array.float()
            for name, array in arrays.items()
            if name.startswith(prefix)
        }
    )
    return ModeWeights(
        net.eval(),
        Calibration(**facts["calibration"]),
        float(facts["threshold"]),
        LengthPrior(**facts["prior"]),
    )
