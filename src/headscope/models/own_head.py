"""The states of every layer, and the model's own way from a state to its answer.

What a model does after its last block (final norm, transform, scale, unembedding, bias, soft cap)
is not written down again here for each family: the model itself runs, on texts of one token, with
its blocks diverted, and the last block puts out the states in question. Whether that gives what a
whole pass gives is tried once on a few random tokens; a model for which it does not is refused.
"""

from collections.abc import Collection, Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope.models.check.probe import probe_of
from headscope.models.diverted_blocks import BlockCall, blocks_in_order, diverted
from headscope.models.linear_maps import quick_linear_maps
from headscope.models.loaded import LoadedModel
from headscope.models.output_head import output_head_of
from headscope.models.site import AttentionSite

Inputs = Mapping[str, Tensor]

_TOLERANCE = 1e-5
"""Relative, of the trial in single precision."""


class OwnHead:
    """Reads the states of layers, and takes states through the model's own head.

    Of an encoder-decoder, the layers are those of the decoder.
    """

    def __init__(self, model: LoadedModel) -> None:
        """Find the layers of a model, and try its head if it has one.

        Args:
            model: As loaded, with its head if states are to be taken through it.
        """
        self.model = model
        stack = "decoder" if model.config.is_encoder_decoder else model.stacks[0]
        self.layers: tuple[AttentionSite, ...] = tuple(s for s in model.sites if s.stack == stack)
        """A site of each layer, in order."""
        by_site = blocks_in_order(model)
        self._all = list(dict.fromkeys(by_site.values()))
        self._by_site = by_site
        self._blocks = [by_site[site] for site in self.layers if site in by_site]
        if len(dict.fromkeys(self._blocks)) < len(self.layers):
            raise ModelError(
                f"the layers of {model.name} are not modules of their own, one after the other, so "
                "their states cannot be told apart; choose another model"
            )
        self._templates: dict[nn.Module, Any] = {}
        self._probe = dict(probe_of(model.model).padded)
        self.predicts: bool = output_head_of(model.model) in ("causal", "masked", "seq2seq")
        """Whether the model has a head that predicts tokens."""
        self._try()

    @property
    def stack(self) -> str:
        """The stack that the layers are of."""
        return self.layers[0].stack

    def numbers(self, layers: Collection[int] | None) -> tuple[int, ...]:
        """The numbers of the layers that are asked for; 0 stands for what the first layer reads.

        Args:
            layers: Numbered from 1; None for all, and 0.
        """
        if layers is None:
            return tuple(range(len(self.layers) + 1))
        return tuple(site.layer for site in self.layers if site.layer in layers)

    def sites(self, layers: Collection[int] | None) -> tuple[AttentionSite, ...]:
        """The attention of the layers: of an encoder-decoder, self-attention and cross-attention.

        Args:
            layers: Numbered from 1; None for all.
        """
        return tuple(s for s in self.model.sites_of(layers) if self._by_site[s] in self._blocks)

    def states(
        self, inputs: Inputs, scored: Bool[Tensor, "batch position"]
    ) -> Float[Tensor, "layer scored d_model"]:
        """The states at some positions: what the first layer reads, then what each layer puts out.

        Nothing after the last layer is computed.

        Args:
            inputs: What the model takes.
            scored: The positions, of the decoder if there is one.
        """
        found: list[Tensor] = []

        def keep(call: BlockCall) -> Any:
            if call.block not in self._blocks:
                return call.run()
            if not found:
                found.append(call.states[scored])
            output = call.run()
            found.append(states_of(output)[scored])
            if call.block is self._blocks[-1]:
                raise _LastLayerDone
            return output

        try:
            with diverted(self._blocks, keep), self.model.in_pieces():
                self._run(inputs)
        except _LastLayerDone:
            return torch.stack(found)
        raise ModelError(f"{self.model.name} ran fewer layers than when it was loaded")

    def answers(self, states: Float[Tensor, "scored d_model"]) -> Float[Tensor, "scored value"]:
        """What the model's own head makes of states, as if its last layer had put them out.

        Args:
            states: Of any layer.
        """
        n = len(states)
        one_token = {name: _one_token(tensor, n) for name, tensor in self._probe.items()}

        def give(call: BlockCall) -> Any:
            template = self._templates[call.block]
            if call.block is self._blocks[-1]:
                return _with_states(template, states[:, None])
            own = states_of(template)
            return _with_states(template, own.new_zeros(1).expand(n, 1, own.shape[-1]))

        with diverted(self._all, give):
            logits: Float[Tensor, "scored value"] = self._run(one_token).logits[:, 0]
        return logits

    def _try(self) -> None:
        """Record what blocks put out, and hold a trial of the head against the model."""

        def keep(call: BlockCall) -> Any:
            self._templates[call.block] = output = call.run()
            return output

        with diverted(self._all, keep):
            output = self._run(self._probe)
        if not self.predicts:
            return
        mask = (
            "decoder_attention_mask" if self.model.config.is_encoder_decoder else "attention_mask"
        )
        real = self._probe[mask].bool()
        expected = output.logits[real]
        half = torch.finfo(self.model.dtype).bits < 32
        tolerance = self.model.check.tolerance if half else _TOLERANCE
        try:
            found = self.answers(self.states(self._probe, real)[-1])
        except (RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise self._refusal() from error
        same = found.shape == expected.shape
        if not same or not (found - expected).norm() <= tolerance * expected.norm():
            raise self._refusal()

    def _refusal(self) -> ModelError:
        return ModelError(
            f"{self.model.name}: what its head makes of single states is not what it makes of "
            "whole texts, so layers cannot be read through it; choose another model"
        )

    def _run(self, inputs: Inputs) -> Any:
        with torch.inference_mode(), quick_linear_maps():
            return self.model.model(**inputs, **self.model.call_options)


def _one_token(tensor: Tensor, n: int) -> Tensor:
    """The first token of the first text, as a batch of n texts."""
    return tensor[:1, :1].expand(n, 1)


def states_of(output: Any) -> Tensor:
    """The states among what a block puts out.

    Args:
        output: Of the block.
    """
    states: Tensor = output if isinstance(output, Tensor) else output[0]
    return states


def _with_states(template: Any, states: Tensor) -> Any:
    """What a block puts out, with other states."""
    return states if isinstance(template, Tensor) else (states, *template[1:])


class _LastLayerDone(Exception):
    """Raised inside the model to leave it after its last layer."""
