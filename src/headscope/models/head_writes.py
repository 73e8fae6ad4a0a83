"""How heads write into the residual stream: W_O of each head and the stream, for any family.

Both are found by running the model once on the tiny inputs of the self-check. W_O is the weight of
the first linear map that takes the joined head outputs, and is held against what that map put out.
The stream is the input of the block around the attention module: the nearest module on the way up
that is an element of a list of modules.
"""

import inspect
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.models.check.probe import probe_of
from headscope.models.check.projection_watch import Projection, ProjectionWatch
from headscope.models.loaded import LoadedModel
from headscope.models.quiet import quiet_loading
from headscope.models.site import AttentionSite
from headscope.models.taps import AttentionCall


@dataclass(frozen=True, eq=False, slots=True)
class HeadWrites:
    """How the heads of one attention layer write."""

    site: AttentionSite
    weight: Float[Tensor, "head d_head d_model"]
    """W_O, head by head: a view of the model's own weight where that is one matrix."""
    weight_name: str | None
    """The parameter that holds W_O; None where it is no parameter as it stands."""
    by_columns: bool
    """Whether the heads lie along the second axis of that parameter (`nn.Linear`), not along its
    first (`Conv1D`)."""
    block: str
    """The module whose input is the residual stream."""
    tokens_first: bool
    """Whether that input has the axes token, batch, d_model (XLNet)."""


@dataclass(frozen=True, eq=False, slots=True)
class FoundWrites:
    """The writes of every attention layer, or why they are not known."""

    found: Mapping[AttentionSite, HeadWrites]
    missing: Mapping[AttentionSite, str]
    """The reason, for sites whose writes could not be found."""


def find_writes(model: LoadedModel, sites: Collection[AttentionSite] | None = None) -> FoundWrites:
    """W_O and the residual stream of each attention layer of a model.

    Args:
        model: Of any family.
        sites: Which layers; all for None.
    """
    watch = ProjectionWatch(model.check.tolerance)
    blocks = {site: _block_of(model.model, site) for site in model.sites}
    entering: list[Tensor | None] = []
    calls: list[AttentionCall] = []
    with torch.inference_mode(), quiet_loading():
        streams = _Streams()
        names = {name for name in blocks.values() if name is not None}

        def on_call(call: AttentionCall) -> None:
            block = blocks[model.sites[len(calls)]]
            entering.append(None if block is None else streams.of(block))
            calls.append(call)
            watch.announce(call.head_output)

        cached = "use_cache" in inspect.signature(model.model.forward).parameters
        options = {"use_cache": False} if cached else {}
        with _following(model.model, names, streams), watch, model.listen(on_call):
            model.model(**probe_of(model.model).padded, **options)
        found, missing = {}, {}
        for site, call, projection, stream in zip(
            model.sites, calls, watch.found, entering, strict=True
        ):
            if sites is not None and site not in sites:
                continue
            writes = _writes(model, site, blocks[site], call, projection, stream)
            if isinstance(writes, HeadWrites):
                found[site] = writes
            else:
                missing[site] = writes
    return FoundWrites(found, missing)


def _writes(
    model: LoadedModel,
    site: AttentionSite,
    block: str | None,
    call: AttentionCall,
    projection: Projection | None,
    stream: Tensor | None,
) -> HeadWrites | str:
    """The writes of a site, or the reason why they are not known."""
    if projection is None:
        return "no linear map takes the head outputs as they are: they are gated or normalised"
    weight = projection.weight(site.heads)
    written = torch.einsum("bhtd,hdm->btm", call.head_output.double(), weight.double())
    contributions, _ = projection.contributions(site.heads)
    expected = sum(part.double() for part in contributions)
    assert isinstance(expected, Tensor)
    if expected.numel() != written.numel():
        return f"the output projection writes {expected.shape[-1]} numbers a token"
    shape = (*written.shape[:2], -1)
    flipped = expected.ndim == 3 and expected.shape[:2] == written.shape[1::-1]
    expected = expected.transpose(0, 1) if flipped else expected.reshape(shape)
    if not (written - expected).norm() <= model.check.tolerance * expected.norm():
        return "the weight of the output projection does not give what it puts out"
    if block is None or stream is None:
        return "the block around the attention module was not found, so its input is not known"
    if stream.shape[-1] != weight.shape[-1]:
        return f"{block} takes {stream.shape[-1]} numbers a token, heads write {weight.shape[-1]}"
    batch, tokens = written.shape[:2]
    if stream.shape[:2] not in ((batch, tokens), (tokens, batch)):
        return f"{block} takes other tokens than its attention"
    matrix = weight.flatten(0, 1)
    parameters = model.model.named_parameters()
    held_by = next((held for held in parameters if _is_the_same(held[1], matrix)), None)
    return HeadWrites(
        site=site,
        weight=weight,
        weight_name=held_by[0] if held_by else None,
        by_columns=held_by is not None and held_by[1].stride() != matrix.stride(),
        block=block,
        tokens_first=stream.shape[:2] != (batch, tokens),
    )


def _is_the_same(parameter: Tensor, matrix: Tensor) -> bool:
    """Whether a matrix is a view of a whole parameter, transposed or not."""
    return parameter.data_ptr() == matrix.data_ptr() and parameter.numel() == matrix.numel()


def _block_of(model: nn.Module, site: AttentionSite) -> str | None:
    """The nearest module around a site that is an element of a list of modules."""
    parts = site.name.split(".")
    for end in range(len(parts), 0, -1):
        around = model.get_submodule(".".join(parts[: end - 1]))
        if isinstance(around, nn.ModuleList | nn.Sequential):
            return ".".join(parts[:end])
    return None


class _Streams(threading.local):
    """The last input of each block, in each thread."""

    def __init__(self) -> None:
        self.last: dict[str, Tensor] = {}

    def of(self, block: str) -> Tensor | None:
        return self.last.get(block)


@contextmanager
def _following(model: nn.Module, blocks: Collection[str], streams: _Streams) -> Iterator[None]:
    """While open, the first hidden states that a block is given are kept in `streams`."""

    def keep(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        for value in (*arguments, *options.values()):
            if isinstance(value, Tensor) and value.ndim == 3 and value.is_floating_point():
                streams.last[name] = value
                return

    handles = [
        model.get_submodule(name).register_forward_pre_hook(
            lambda _, arguments, options, name=name: keep(name, arguments, options),
            with_kwargs=True,
        )
        for name in blocks
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class ResidualReader:
    """The residual stream that enters a layer, read while the model runs. Threads may share it."""

    def __init__(self, streams: _Streams) -> None:
        self._streams = streams

    def entering(self, writes: HeadWrites) -> Float[Tensor, "batch token d_model"]:
        """The stream that entered the block of a site last, in this thread.

        Args:
            writes: Of the site that is being computed.
        """
        stream = self._streams.last[writes.block]
        return stream.transpose(0, 1) if writes.tokens_first else stream


@contextmanager
def reading_residuals(
    model: LoadedModel, writes: Collection[HeadWrites]
) -> Iterator[ResidualReader]:
    """While open, the reader knows what entered each block, on every thread that runs the model.

    Args:
        model: Whose blocks are followed.
        writes: Of the sites that are asked about.
    """
    streams = _Streams()
    with _following(model.model, {each.block for each in writes}, streams):
        yield ResidualReader(streams)
        streams.last.clear()
