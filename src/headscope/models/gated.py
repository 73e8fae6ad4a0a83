"""A model with gates: heads that are switched off, scaled, or made to write something else.

    with model.gates({(layer, head): 0.0}): ...

Given gates by layer and head, as people count them; everything that runs the model inside runs it
with these gates. Biases of output projections stay: only what the head itself writes is changed.
"""

import hashlib
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from headscope.errors import SettingsError
from headscope.models.site import AttentionSite
from headscope.models.taps import Tap
from headscope.models.taps.gates import SiteGate, opened, start_counting

Gate = int | float | Tensor | np.ndarray
"""A factor; or what the head writes instead: one vector, or one for each token."""
GatesByKey = Mapping[Any, Gate]
"""By layer, (layer, head), (stack, layer) or (stack, layer, head), counted from 1."""
Head = tuple[str, int, int]
"""Stack, layer and head, from 1."""
HeadGates = Mapping[Head, float | Tensor]

_open: ContextVar[Mapping["GatedModel", tuple[HeadGates, ...]]] = ContextVar("headscope_open_gates")


class GatedModel:
    """What a loaded model can do with gates."""

    model: nn.Module
    name: str
    sites: tuple[AttentionSite, ...]
    _tap: Tap

    def __init__(self) -> None:
        self._acting = 0
        self._undo: list[Any] = []
        self._preparing = threading.Lock()

    @property
    def open_gates(self) -> tuple[HeadGates, ...]:
        """The gates that are open here: for all texts of a batch, or a mapping for each."""
        return _open.get({}).get(self, ({},))

    @contextmanager
    def gates(
        self,
        gates: GatesByKey | Sequence[GatesByKey],
        *,
        stack: str | None = None,
    ) -> Iterator[None]:
        """While open, every use of the model runs with these gates.

        Gates hold in the thread that opens them and in those that headscope starts inside; other
        threads that use the model do not see them. Inside other gates both hold; for the same head,
        the inner one. A gate of 1 leaves a head as it is.

        Args:
            gates: By `(layer, head)`, or by `layer` for all of its heads, with the stack first
                where the model has several: `(stack, layer, head)`. Each is a factor (0.0 switches
                the head off); or a vector that the head writes instead for every token (such as its
                mean); or a matrix with a vector for each token, from the first on (such as what
                the head writes for another text). A sequence of such mappings has one for each
                text of a batch.
            stack: The stack of all keys that name none.
        """
        rows = [gates] if isinstance(gates, Mapping) else list(gates)
        if not rows:
            raise SettingsError("gates: an empty list; give one mapping, or one for each text")
        asked = tuple(self._by_head(row, stack) for row in rows)
        merged = _merged(self.open_gates, asked)
        by_module = self._by_module(merged)
        self._prepare()
        token = _open.set({**_open.get({}), self: merged})
        try:
            with opened(by_module):
                yield
        finally:
            _open.reset(token)
            self._withdraw()

    @contextmanager
    def scaled(self, factors: Mapping[AttentionSite, Float[Tensor, "row head"]]) -> Iterator[None]:
        """While open, what heads write is multiplied by factors through which gradients flow.

        The gradient of a loss by the factor of a head, at 1, is the sum over tokens of z . dL/dz:
        what the loss would change by, to first order, for each share that is taken away.

        Args:
            factors: Of each site, one row for all texts of a batch, or a row for each.
        """
        modules = dict(self.model.named_modules())
        by_module: dict[nn.Module, list[SiteGate | None]] = {}
        for site in self.sites:
            scale = factors.get(site)
            gate = None if scale is None else SiteGate(scale, causal=site.causal)
            by_module.setdefault(modules[site.name], []).append(gate)
        self._prepare()
        try:
            with opened(by_module):
                yield
        finally:
            self._withdraw()

    def replacements(
        self,
        token_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"] | Bool[Tensor, "batch token"],
        *,
        mean: bool,
    ) -> dict[Head, Tensor]:
        """What each head writes for some texts, as gates that make it write that.

        Args:
            token_ids: The texts, padded on the right.
            attention_mask: 1 for tokens, 0 for padding.
            mean: The mean vector over all tokens; otherwise the vectors one after the other.
        """
        real = attention_mask.bool().cpu()
        found: dict[Head, Tensor] = {}

        def keep(capture: Any) -> None:
            site = capture.site
            by_head = capture.head_output.transpose(0, 1).cpu()  # head, batch, token, d_head
            for head, vectors in enumerate(by_head[:, real], start=1):
                found[site.stack, site.layer, head] = (
                    vectors.double().mean(0).to(vectors.dtype) if mean else vectors.clone()
                )

        forward: Any = getattr(self, "forward")  # noqa: B009
        forward(token_ids, attention_mask, keep)
        return found

    def _by_head(self, gates: GatesByKey, stack: str | None) -> HeadGates:
        found: dict[Head, float | Tensor] = {}
        for key, gate in gates.items():
            site, heads = self._heads(key, stack)
            for head in heads:
                found[site.stack, site.layer, head] = _checked(gate, site, key)
        return found

    def _heads(self, key: Any, stack: str | None) -> tuple[AttentionSite, Sequence[int]]:
        """The site that a key names, and the heads, from 1."""
        parts = list(key) if isinstance(key, tuple) else [key]
        named = parts.pop(0) if parts and isinstance(parts[0], str) else stack
        stacks = list(dict.fromkeys(site.stack for site in self.sites))
        whole = all(isinstance(part, int | np.integer) for part in parts)
        if len(parts) not in (1, 2) or not whole or any(part is True for part in parts):
            raise SettingsError(
                f"gates: {key!r} names no head; give (layer, head), layer, or (stack, layer, head)"
            )
        if named is None and len(stacks) > 1:
            raise SettingsError(
                f"gates: {self.name} has the stacks {', '.join(stacks)}; give (stack, layer, head) "
                "or stack="
            )
        named = stacks[0] if named is None else named
        if named not in stacks:
            raise SettingsError(f"gates: {self.name} has {', '.join(stacks)}, not {named!r}")
        layers = {site.layer: site for site in self.sites if site.stack == named}
        site = layers.get(int(parts[0]))
        if site is None:
            raise SettingsError(
                f"gates: the {named} of {self.name} has layers 1 to {max(layers)}, not {parts[0]}"
            )
        if len(parts) == 1:
            return site, range(1, site.heads + 1)
        if not 1 <= parts[1] <= site.heads:
            raise SettingsError(
                f"gates: layer {site.layer} of {self.name} has heads 1 to {site.heads}, not "
                f"{parts[1]}"
            )
        return site, [int(parts[1])]

    def _by_module(self, rows: tuple[HeadGates, ...]) -> dict[nn.Module, list[SiteGate | None]]:
        """The gates of all attention modules, as taps read them."""
        modules = dict(self.model.named_modules())
        found: dict[nn.Module, list[SiteGate | None]] = {}
        for site in self.sites:
            found.setdefault(modules[site.name], []).append(_site_gate(site, rows, self.model))
        return found

    def _prepare(self) -> None:
        """Let gates act on the model, unless they do already."""
        with self._preparing:
            if not self._acting:
                modules = dict(self.model.named_modules())
                names = [site.name for site in self.sites]
                shared = {name for name in names if names.count(name) > 1}
                body = getattr(self.model, "base_model", self.model)
                self._undo = [
                    self._tap.let_gates_act([modules[name] for name in dict.fromkeys(names)]),
                    start_counting(
                        list(dict.fromkeys([self.model, body])), [modules[name] for name in shared]
                    ),
                ]
            self._acting += 1

    def _withdraw(self) -> None:
        with self._preparing:
            self._acting -= 1
            if not self._acting:
                for undo in self._undo:
                    undo()
                self._undo = []


def fingerprint_of(vectors: Tensor) -> str:
    """SHA-256 of what a head is made to write, by which a run knows it.

    Args:
        vectors: In a row, or for each token.
    """
    values = vectors.detach().cpu().double().contiguous().numpy()
    return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()


def _checked(gate: Any, site: AttentionSite, key: object) -> float | Tensor:
    """A factor, or a matrix of vectors: one for all tokens, or one for each."""
    if isinstance(gate, int | float | np.number):
        if not math.isfinite(gate):
            raise SettingsError(f"gates: {key!r} is {gate}; give a finite number")
        return float(gate)
    vectors = torch.as_tensor(gate).detach()
    if vectors.ndim == 0:
        return _checked(vectors.item(), site, key)
    if vectors.ndim > 2 or vectors.shape[-1] != site.d_head or not vectors.numel():
        raise SettingsError(
            f"gates: {key!r} is of shape {tuple(vectors.shape)}, but the head writes vectors of "
            f"{site.d_head}; give one vector, or one for each token"
        )
    if not torch.isfinite(vectors).all():
        raise SettingsError(f"gates: {key!r} has numbers that are not finite")
    return vectors.reshape(-1, site.d_head)


def _merged(outer: tuple[HeadGates, ...], inner: tuple[HeadGates, ...]) -> tuple[HeadGates, ...]:
    """Both, where the inner ones win; a gate of 1 is no gate."""
    if len(outer) != len(inner) and 1 not in (len(outer), len(inner)):
        raise SettingsError(
            f"gates: {len(inner)} mappings inside of {len(outer)}; give one for each text in both"
        )
    rows = max(len(outer), len(inner))
    pairs = zip(outer * (rows // len(outer)), inner * (rows // len(inner)), strict=True)
    return tuple(
        {
            head: gate
            for head, gate in {**one, **other}.items()
            if isinstance(gate, Tensor) or gate != 1.0
        }
        for one, other in pairs
    )


def _site_gate(
    site: AttentionSite, rows: tuple[HeadGates, ...], model: nn.Module
) -> SiteGate | None:
    """What is done to the heads of a site; None for nothing."""
    parameter = next(model.parameters())
    scale = torch.ones(len(rows), site.heads, dtype=parameter.dtype, device=parameter.device)
    replaced: dict[tuple[int, int], Tensor] = {}
    changed = False
    for row, gates in enumerate(rows):
        for head in range(site.heads):
            gate = gates.get((site.stack, site.layer, head + 1))
            if gate is None:
                continue
            changed = True
            if isinstance(gate, Tensor):
                replaced[row, head] = gate
            else:
                scale[row, head] = gate
    return SiteGate(scale, replaced, causal=site.causal) if changed else None
