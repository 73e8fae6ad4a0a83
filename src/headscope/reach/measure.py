"""A window through the model: sums of similarity, use of context, answers to repeats.

The result is a pure function of model, windows and plan. Each layer is reduced during the forward
pass; of an intact text, only what heads write for the scored tokens is kept until the changed text
was read.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import ModelError
from headscope.kernels.crossing_pairs import GROUPS, VARIANTS, CrossingPairs
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite, MassCapture
from headscope.reach.next_token import has_loss, next_token_losses
from headscope.reach.plan import ReachPlan
from headscope.reach.texts import (
    Text,
    plant_echoes,
    replaced_around,
    replaced_before,
    shuffle_sentences,
    splice,
)

Arrays = dict[str, NDArray[np.float64]]


@dataclass(eq=False, slots=True)
class _Kept:
    """What is kept of a text that was read, for the tokens that are scored."""

    vectors: dict[AttentionSite, Float[Tensor, "head score d_head"]] = field(default_factory=dict)
    mass: dict[AttentionSite, Float[Tensor, "head token"]] = field(default_factory=dict)
    """Attention that each token receives from the scored ones, if asked for."""
    losses: NDArray[np.float64] | None = None
    """Of the token after each scored one, in nats; None without a loss."""


def reach_sites(model: LoadedModel, layers: Sequence[int] | None) -> tuple[AttentionSite, ...]:
    """The sites that are measured: of an encoder-decoder, those of its encoder.

    Args:
        model: What reads the texts.
        layers: Numbered from 1; None for all.
    """
    sites = model.sites_of(layers)
    return tuple(site for site in sites if site.stack == model.stacks[0])


def texts_of_window(sites: Sequence[AttentionSite], plan: ReachPlan) -> int:
    """Number of texts that the model reads for each window.

    Args:
        sites: Which attention layers are measured.
        plan: What is measured.
    """
    around = 0
    if plan.reads("use") and not is_causal(sites):
        around = len(plan.use_distances)
    return 2 + plan.reads("shuffled") + around + 2 * plan.reads("repeats")


def is_causal(sites: Sequence[AttentionSite]) -> bool:
    """Whether no token sees a later one, so that only what comes before can be used."""
    return all(site.causal for site in sites)


def cell_shapes(
    model: LoadedModel, sites: Sequence[AttentionSite], plan: ReachPlan
) -> dict[str, tuple[int, ...]]:
    """The shape of all that `measure_window` gives, by name.

    Args:
        model: What reads the texts.
        sites: Which attention layers are measured.
        plan: What is measured.
    """
    rows, bins = sum(site.heads for site in sites), len(plan.edges) - 1
    similarity = {"sums": (len(VARIANTS), len(GROUPS), rows, bins), "counts": (len(GROUPS), bins)}
    names = ["intact", "spliced", *(["shuffled"] if plan.reads("shuffled") else [])]
    for seed in range(plan.seeds):
        names += [f"untrained_{seed}/intact", f"untrained_{seed}/spliced"]
    found = {f"{name}/{kind}": shape for name in names for kind, shape in similarity.items()}
    changes = {}
    if plan.reads("use"):
        changes["use"] = bins
        if is_causal(sites) and has_loss(model):
            found |= {"loss/increase": (bins,), "loss/tokens": (bins,)}
    if plan.reads("repeats"):
        distances = len(plan.repeat_distances)
        changes |= dict.fromkeys(("repeats_again", "repeats_before"), distances)
        found |= {f"repeats_attention/{name}": (rows, distances) for name in ("first", "control")}
    for name, number in changes.items():
        found |= {f"{name}/change": (rows, number), f"{name}/size": (rows, number)}
        found[f"{name}/tokens"] = (number,)
    return found


def measure_window(
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    texts: tuple[Text, Text],
    plan: ReachPlan,
    *,
    control_only: bool = False,
    on_text: Callable[[], None] = lambda: None,
) -> Arrays:
    """The sums of one window, with another as the foreign document.

    Args:
        model: What reads the texts.
        sites: Which attention layers are measured.
        texts: The window, and the other.
        plan: What is measured.
        control_only: Whether only intact and spliced texts are read, as by untrained models.
        on_text: Called after each text.
    """
    own, other = texts
    reading = _Reading(model, sites, plan, on_text)
    reading.similarity(own, other, everything=not control_only)
    if not control_only:
        rng = np.random.default_rng([plan.seed, zlib.crc32(own.token_ids.tobytes())])
        if plan.reads("repeats"):
            reading.repeats(own, other, rng)
        if plan.reads("shuffled"):
            reading.shuffled(own, rng)
    return reading.arrays


@dataclass(eq=False)
class _Reading:
    """What is read of one window, with another as the foreign document."""

    model: LoadedModel
    sites: Sequence[AttentionSite]
    plan: ReachPlan
    on_text: Callable[[], None]
    arrays: Arrays = field(default_factory=dict)

    def similarity(self, own: Text, other: Text, *, everything: bool) -> None:
        """The intact text, the spliced one, and what replacing context changes."""
        plan = self.plan
        spliced = splice(other, own, plan.point)
        causal = is_causal(self.sites)
        use = everything and plan.reads("use")
        changed = []
        if use and causal:
            changed = [replaced_before(own, spliced, plan.point, plan.edges)]
        elif use:
            around = (replaced_around(own, other, distance) for distance in plan.use_distances)
            changed = [replaced for replaced in around if replaced is not None]
        places = np.unique(np.concatenate([[], *(one.scored for one in changed)])).astype(int)
        loss = use and causal and has_loss(self.model)
        kept = self._read(own, "intact", keep=places, loss=loss)
        if not (use and causal):
            self._read(spliced, "spliced")
        for replaced in changed:
            name = "spliced" if causal else None
            again = self._read(replaced.text, name, keep=replaced.scored, loss=loss)
            bins = np.searchsorted(plan.edges, replaced.distances, side="right") - 1
            own_places = np.searchsorted(places, replaced.scored)
            bins_total = len(plan.edges) - 1
            self._add_change("use", kept, again, own_places, bins, bins_total)
            if kept.losses is not None and again.losses is not None:
                increase = again.losses - kept.losses[own_places]
                told = np.isfinite(increase)  # nothing comes after the last token
                weights = np.stack([increase[told], np.ones(told.sum())])
                summed = _by_bin(torch.from_numpy(weights), bins[told], bins_total)
                self._add("loss/increase", summed[0])
                self._add("loss/tokens", summed[1])

    def shuffled(self, own: Text, rng: np.random.Generator) -> None:
        """The text with its sentences in random order."""
        self._read(shuffle_sentences(own, rng), "shuffled")

    def repeats(self, own: Text, other: Text, rng: np.random.Generator) -> None:
        """What heads write for a phrase that came before, and what if it did not."""
        distances = self.plan.repeat_distances
        echo = plant_echoes(own, other, distances, rng)
        bins = np.repeat([distances.index(one) for one in echo.distances], echo.again.shape[1])
        places = np.concatenate([echo.again.flatten(), echo.before.flatten()])
        half = len(bins)
        with_first = self._read(echo.text, None, keep=places, mass_from=places[:half])
        without = self._read(echo.control, None, keep=places, mass_from=places[:half])
        for name, kept in (("first", with_first), ("control", without)):
            received = np.zeros((sum(site.heads for site in self.sites), len(distances)))
            mass = torch.cat([kept.mass[site].double() for site in self.sites]).numpy()
            for distance, again in zip(echo.distances, echo.again, strict=True):
                # The same token, or the one after it, which is what heads copy that foretell.
                earlier = np.union1d(again - distance, again - distance + 1)
                received[:, distances.index(distance)] = mass[:, earlier].sum(1)
            self._add(f"repeats_attention/{name}", received)
        for name, some in (("again", slice(0, half)), ("before", slice(half, None))):
            index = np.arange(len(places))[some]
            self._add_change(
                f"repeats_{name}", with_first, without, index, bins, len(distances), index
            )

    def _add_change(
        self,
        name: str,
        kept: _Kept,
        again: _Kept,
        places: Int[np.ndarray, " score"],
        bins: Int[np.ndarray, " score"],
        number: int,
        places_again: Int[np.ndarray, " score"] | None = None,
    ) -> None:
        """Add the squared change and the squared length of scored tokens, by bin."""
        changes: list[NDArray[np.float64]] = []
        sizes: list[NDArray[np.float64]] = []
        for site in self.sites:
            before = kept.vectors[site][:, places].double()
            after = again.vectors[site]
            if places_again is not None:
                after = after[:, places_again]
            for found, vectors in ((changes, before - after.double()), (sizes, before)):
                found.append(_by_bin(vectors.square().sum(-1), bins, number))
        self._add(f"{name}/change", np.concatenate(changes))
        self._add(f"{name}/size", np.concatenate(sizes))
        self._add(f"{name}/tokens", np.bincount(bins, minlength=number).astype(np.float64))

    def _read(
        self,
        text: Text,
        name: str | None,
        keep: NDArray[np.int64] | None = None,
        *,
        loss: bool = False,
        mass_from: NDArray[np.int64] | None = None,
    ) -> _Kept:
        """What heads write for some tokens; similarity is summed under the name, if any."""
        crossing = None
        if name is not None:
            crossing = CrossingPairs.of(
                self.plan.point, self.plan.edges, text.forms, text.sinks, self.model.device
            )
        kept = _Kept()
        sums: list[NDArray[np.float64]] = []
        places = None if keep is None or not len(keep) else torch.from_numpy(keep)

        def on_layer(capture: MassCapture) -> None:
            vectors = capture.head_output[0]
            if not torch.isfinite(vectors).all():
                raise ModelError(f"layer {capture.site.layer} writes NaN or infinity")
            if crossing is not None:
                sums.append(crossing.sums(vectors).cpu().numpy())
            if places is not None:
                kept.vectors[capture.site] = vectors[:, places.to(vectors.device)].cpu()
            if mass_from is not None:
                kept.mass[capture.site] = capture.mass[0].cpu()

        ids = torch.from_numpy(text.token_ids)[None]
        mask = torch.ones_like(ids)
        if loss and places is not None:
            states = self.model.forward_states(ids, mask, on_layer, sites=self.sites)[0]
            kept.losses = next_token_losses(self.model, states, ids[0], places)
        else:
            queries = None
            if mass_from is not None:
                queries = torch.zeros_like(ids, dtype=torch.bool)
                queries[0, torch.from_numpy(mass_from)] = True
            self.model.forward_mass(ids, mask, on_layer, sites=self.sites, queries=queries)
        if crossing is not None:
            self._add(f"{name}/sums", np.concatenate(sums, axis=2))
            self._add(f"{name}/counts", crossing.counts)
        self.on_text()
        return kept

    def _add(self, name: str, values: NDArray[np.float64]) -> None:
        self.arrays[name] = self.arrays[name] + values if name in self.arrays else values


def _by_bin(
    values: Float[Tensor, "head score"], bins: Int[np.ndarray, " score"], number: int
) -> NDArray[np.float64]:
    summed = values.new_zeros(len(values), number)
    result: NDArray[np.float64] = summed.index_add_(1, torch.from_numpy(bins), values).numpy()
    return result
