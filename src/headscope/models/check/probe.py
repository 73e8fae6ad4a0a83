"""A tiny batch of random inputs for any model: what discovery and self-check run on."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.errors import ModelError

Modality = Literal["text", "vision", "audio"]
Inputs = Mapping[str, Tensor]

# Uneven, and longer in the encoder than in the decoder, so that shapes tell the stacks apart.
_TEXT_TOKENS = (9, 5)
_DECODER_TOKENS = (7, 4)
_AUDIO_SAMPLES = (4000, 2500)
_MOST_PIXELS = 1 << 20


@dataclass(frozen=True, slots=True)
class Probe:
    """Two inputs of uneven length, and the shorter one again without its padding."""

    padded: Inputs
    """Both, the shorter (second) one padded at the end and masked."""
    alone: Inputs | None
    """The second one alone. None where inputs have one size: images, spectrograms."""


def modality_of(model: PreTrainedModel) -> Modality:
    """What the model reads, from the name of its main input.

    Args:
        model: Any model of transformers.
    """
    names: dict[str, Modality] = {
        "input_ids": "text",
        "pixel_values": "vision",
        "input_values": "audio",
        "input_features": "audio",
    }
    try:
        return names[model.main_input_name]
    except KeyError:
        raise ModelError(
            f"{type(model).__name__} reads {model.main_input_name!r}, which headscope cannot make; "
            f"it knows models that read {', '.join(names)}"
        ) from None


def probe_of(model: PreTrainedModel, seed: int = 0) -> Probe:
    """Random inputs for a model, the same for the same seed.

    Args:
        model: Of text, images or sound.
        seed: Of the inputs.
    """
    generator = torch.Generator().manual_seed(seed)
    padded: dict[str, Tensor] = {}
    alone: dict[str, Tensor] | None = {}
    match model.main_input_name:
        case "input_ids":
            ids, mask = _random_tokens(model, _TEXT_TOKENS, generator)
            padded |= {"input_ids": ids, "attention_mask": mask}
            alone = _second_alone(padded, _TEXT_TOKENS[1])
        case "input_values":
            lengths = torch.tensor(_AUDIO_SAMPLES)
            mask = (torch.arange(_AUDIO_SAMPLES[0]) < lengths[:, None]).long()
            sound = torch.randn(mask.shape, generator=generator) * mask
            padded |= {"input_values": sound, "attention_mask": mask}
            alone = _second_alone(padded, _AUDIO_SAMPLES[1])
        case "input_features":
            frames = 2 * model.config.max_source_positions  # two frames per position, as in Whisper
            spectrogram = (2, model.config.num_mel_bins, frames)
            padded["input_features"] = torch.randn(spectrogram, generator=generator)
            alone = None
        case _:
            size = model.config.image_size
            height, width = (size, size) if isinstance(size, int) else size
            if not 0 < height * width <= _MOST_PIXELS:
                raise ModelError(
                    f"{type(model).__name__} reads images of {height:,} x {width:,} pixels, more "
                    f"than the {_MOST_PIXELS:,} that headscope makes; check its config.json"
                )
            images = (2, model.config.num_channels, height, width)
            padded["pixel_values"] = torch.randn(images, generator=generator)
            alone = None
    if model.config.is_encoder_decoder:
        if "decoder_input_ids" not in inspect.signature(model.forward).parameters:
            raise ModelError(
                f"{type(model).__name__} has no decoder, but its config.json says so "
                "(is_encoder_decoder); take the config.json that transformers wrote for the model"
            )
        ids, mask = _random_tokens(model, _DECODER_TOKENS, generator)
        padded |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
        if alone is not None:
            alone["decoder_input_ids"] = ids[1:, : _DECODER_TOKENS[1]]
            alone["decoder_attention_mask"] = mask[1:, : _DECODER_TOKENS[1]]
    return Probe(_placed(padded, model), None if alone is None else _placed(alone, model))


def padding_id(model: PreTrainedModel) -> int:
    """The token id to use for padding; 0 where the model has none, since padding is masked.

    Args:
        model: Any model of transformers.
    """
    text_config = model.config.get_text_config()
    identifier = getattr(text_config, "pad_token_id", None)
    known = vocabulary_size(model)
    in_range = isinstance(identifier, int) and 0 <= identifier < (known or identifier + 1)
    return identifier if in_range else 0  # type: ignore[return-value]


def vocabulary_size(model: PreTrainedModel) -> int | None:
    """The number of token ids that the model has a vector for; None where it reads no tokens.

    Args:
        model: Any model of transformers.
    """
    try:
        size = getattr(model.get_input_embeddings(), "num_embeddings", None)
    except (NotImplementedError, AttributeError):
        return None
    return size if isinstance(size, int) else None


def _random_tokens(
    model: PreTrainedModel, lengths: tuple[int, int], generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Token ids and mask. No token has the padding id: RoBERTa would take it for padding."""
    vocabulary = vocabulary_size(model) or 0
    if vocabulary < 2:
        raise ModelError(
            f"{type(model).__name__} has no table of token vectors to read tokens with"
        )
    padding = padding_id(model)
    ids = torch.randint(0, vocabulary - 1, (2, max(lengths)), generator=generator)
    ids += (ids >= padding).long()
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    return ids.masked_fill(mask == 0, padding), mask


def _second_alone(inputs: Inputs, length: int) -> dict[str, Tensor]:
    return {name: tensor[1:, :length] for name, tensor in inputs.items()}


def _placed(inputs: Inputs, model: PreTrainedModel) -> dict[str, Tensor]:
    return {
        name: tensor.to(model.device, model.dtype if tensor.is_floating_point() else tensor.dtype)
        for name, tensor in inputs.items()
    }
