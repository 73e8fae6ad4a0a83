"""Measures that need no similarity matrix: attention received, vector lengths, focal tokens.

Given column mass, lengths, or counts of pairs; gives columns of a run's rows, one number per window
and head.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.kernels.statistics import KINDS
from headscope.kernels.window_batch import WindowBatch
from headscope.settings import Settings


def column_mass(
    attention: Float[Tensor, "batch head query key"],
    query_real: Bool[Tensor, "batch query"] | Float[Tensor, "batch query"],
) -> Float[Tensor, "batch head key"]:
    """s_j = sum over queries i of A_ij, padding left out of the sum.

    Args:
        attention: A.
        query_real: Which queries are tokens and not padding, or the weight of each.
    """
    weights = attention.float() if attention.dtype != torch.float64 else attention
    # As a product of matrices; einsum would first transpose every map.
    return (query_real.to(weights.dtype)[:, None, None, :] @ weights)[:, :, 0]


def scaled_column_mass(
    mass: Float[Tensor, "batch head key"],
    scaling: Bool[Tensor, "batch key"],
    viewers: Float[Tensor, "batch key"],
) -> Float[Tensor, "batch head key"]:
    """Column mass per viewer, with the largest among `scaling` keys at 1; the others get 0.

    Args:
        mass: s, what each key received.
        scaling: The keys that set the scale.
        viewers: What the mass of each key is divided by.
    """
    per_viewer = mass / viewers.clamp_min(1)[:, None]
    per_viewer = per_viewer.masked_fill(~scaling[:, None], 0)
    return per_viewer / per_viewer.amax(-1, keepdim=True).clamp_min(torch.finfo(mass.dtype).tiny)


def viewers(
    query_real: Bool[Tensor, "batch query"], keys: int, *, causal: bool
) -> Float[Tensor, "batch key"]:
    """Number of queries that can see each key: all of them, or those from its position on.

    Args:
        query_real: Which queries are tokens and not padding.
        keys: Number of keys.
        causal: Whether no query sees a later key.
    """
    if not causal:
        return query_real.sum(-1, keepdim=True).float().expand(-1, keys)
    return query_real.float().flip(-1).cumsum(-1).flip(-1)


def attention_share(
    mass: Float[Tensor, "batch head key"],
    keys: Bool[Tensor, "batch key"],
) -> Float[Tensor, "batch head"]:
    """The share of all attention of a window that falls on `keys`.

    Args:
        mass: What each key received.
        keys: The keys asked about.
    """
    return (mass * keys[:, None]).sum(-1) / mass.sum(-1)


Rows = dict[str, Float[Tensor, "batch head"]]


def defined(name: str, values: Float[Tensor, "batch head"]) -> Rows:
    """A column with zeros for NaN, and the column `NAME_texts`: 1 where it is defined, else 0.

    Args:
        name: Of the column.
        values: One number per window and head; NaN where it is undefined.
    """
    there = ~values.isnan()
    return {name: values.nan_to_num(0.0), f"{name}_texts": there.double()}


def attention_rows(mass: Float[Tensor, "batch head key"], batch: WindowBatch) -> Rows:
    """The shares of attention on . ! ?, on special tokens of both kinds and on the first token.

    Args:
        mass: What each key received.
        batch: The windows.
    """
    keys = batch.keys
    first = torch.zeros_like(keys.real)
    first[:, 0] = True
    return attention_rows_of(
        attention_share(mass, keys.separator & ~keys.special).double(),
        attention_share(mass, keys.special_separator).double(),
        attention_share(mass, keys.special & ~keys.special_separator).double(),
        attention_share(mass, first).double(),
    )


def attention_rows_of(
    separators: Float[Tensor, "batch head"],
    special_separators: Float[Tensor, "batch head"],
    starts: Float[Tensor, "batch head"],
    first: Float[Tensor, "batch head"],
) -> Rows:
    """What `attention_rows` gives, from the shares of attention.

    Args:
        separators: On . ! ?
        special_separators: On [SEP], </s>.
        starts: On all other special tokens.
        first: On the first token.
    """
    return {
        "separator_attention": separators,
        "special_separator_attention": special_separators,
        "start_attention": starts,
        "special_attention": special_separators + starts,
        "first_attention": first,
    }


def norm_rows(norms: Float[Tensor, "batch head token"], batch: WindowBatch) -> Rows:
    """Mean length of the vectors that a head writes; and at separators, relative to that.

    Args:
        norms: The length of each vector.
        batch: The windows.
    """
    lengths = norms.double()

    def summed(where: Bool[Tensor, "batch token"]) -> Float[Tensor, "batch head"]:
        return (lengths * where.double()[:, None]).sum(-1)

    separators = batch.counted & batch.queries.separator
    return norm_rows_of(summed(batch.counted), summed(separators), batch)


def norm_rows_of(
    all_lengths: Float[Tensor, "batch head"],
    separator_lengths: Float[Tensor, "batch head"],
    batch: WindowBatch,
) -> Rows:
    """What `norm_rows` gives, from lengths summed over counted tokens and counted separators.

    Args:
        all_lengths: Summed over counted tokens.
        separator_lengths: Summed over counted separators.
        batch: The windows.
    """
    separators = batch.counted & batch.queries.separator
    norm = all_lengths / batch.counted.sum(-1, keepdim=True)
    at_separators = separator_lengths / separators.sum(-1, keepdim=True) / norm
    return defined("norm", norm) | defined("separator_norm", at_separators)


def all_finite(
    head_output: Float[Tensor, "batch head token d_head"], batch: WindowBatch
) -> Bool[Tensor, " batch"]:
    """Whether the vectors of each window are free of NaN and infinity, judged by their sums.

    Args:
        head_output: Z.
        batch: The windows, whose padding does not matter.
    """
    precise = torch.promote_types(head_output.dtype, torch.float32)
    sums = head_output.sum((1, 3), dtype=precise)
    return (sums.isfinite() | ~batch.queries.real).all(1)


def scaled_mass(
    mass: Float[Tensor, "batch head key"], batch: WindowBatch, causal: bool, settings: Settings
) -> Float[Tensor, "batch head key"]:
    """Column mass scaled to a maximum of 1, as `settings.column_mass` says.

    `paper`: the column sums themselves, relative to the largest among all tokens. `counted`: under
    a causal mask the first token is seen by every query and the last by one, so that column sums
    would only show the mask: they are divided by the number of viewers. In many models one special
    token, or the first one, draws most of the attention, which would leave no other above any
    threshold: those neither set the scale nor get a value.

    Args:
        mass: s, what each key received.
        batch: The windows.
        causal: Whether no query sees a later key.
        settings: How column mass is scaled, and whether special tokens count.
    """
    seen_by = scaling_viewers(batch, causal, settings).to(mass.dtype)
    return scaled_column_mass(mass, scaling_keys(batch, causal, settings), seen_by)


def scaling_viewers(
    batch: WindowBatch, causal: bool, settings: Settings
) -> Float[Tensor, "batch key"]:
    """What the mass of each key is divided by: the number of its viewers, or 1 as in the paper.

    Args:
        batch: The windows.
        causal: Whether no query sees a later key.
        settings: How column mass is scaled.
    """
    if settings.column_mass == "paper":
        return torch.ones_like(batch.keys.real, dtype=torch.float32)
    return viewers(batch.queries.real, batch.keys.real.shape[1], causal=causal)


def scaling_keys(batch: WindowBatch, causal: bool, settings: Settings) -> Bool[Tensor, "batch key"]:
    """The tokens that set the scale of column mass.

    Causal models use the first token as a sink, whatever that token is. Like special tokens it is
    left out here and measured apart, as `first_attention`. The paper leaves out nothing.

    Args:
        batch: The windows.
        causal: Whether no query sees a later key.
        settings: How column mass is scaled, and whether special tokens count.
    """
    if settings.column_mass == "paper":
        return batch.keys.real
    scaling = batch.keys.counted(settings.special_tokens).clone()
    if causal and not settings.special_tokens:
        scaling[:, 0] = False
    return scaling


def mask_rows(
    pairs: Float[Tensor, "*axes"],
    touched: Float[Tensor, "*axes"],
    high: Float[Tensor, "*axes"],
    n_counted: Float[Tensor, "*axes"],
    *,
    cross: bool,
) -> dict[str, Float[Tensor, "*axes"]]:
    """Number of pairs with a high-attention token, and the number expected by chance.

    Cross attention reads other tokens than it writes for, so there is no mask over C: NaN.

    Args:
        pairs: Number of pairs.
        touched: Number of those with a high-attention token.
        high: Number of high-attention tokens.
        n_counted: Number of tokens that may form pairs.
        cross: Whether this is cross attention.
    """
    if cross:
        missing = torch.full_like(pairs, torch.nan)
        return {"mask_pairs": missing, "mask_expected": missing}
    others = n_counted - high
    untouched = others * (others - 1) / (n_counted * (n_counted - 1)).clamp_min(1)
    return {"mask_pairs": touched, "mask_expected": pairs * (1 - untouched)}


def focal_rows(
    place: Int[Tensor, "batch head"], pairs: Float[Tensor, "batch head"], batch: WindowBatch
) -> Rows:
    """Which token is focal, and how many elements of pairs its frequency alone would give it.

    Args:
        place: Where the focal token first occurs; -1 for heads without pairs.
        pairs: Number of pairs.
        batch: The windows.
    """
    there = place.clamp_min(0)
    occurrences = (batch.first[:, :, None] == there[:, None, :]) & batch.counted[:, :, None]
    share = occurrences.sum(1) / batch.counted.sum(-1).clamp_min(1)[:, None]
    ids, kinds = batch.queries.token_ids, batch.queries.kinds
    return {
        "focal_token": ids.gather(1, there).masked_fill(place < 0, -1).double(),
        "focal_kind": kinds.gather(1, there).masked_fill(place < 0, -1).double(),
        "focal_expected": 2 * pairs * share.double(),
    }


def count_kinds(focal_kind: Float[Tensor, "batch head"]) -> Float[Tensor, "head kind"]:
    """Number of windows whose focal token is of each kind.

    Args:
        focal_kind: The kind of each head's focal token; -1 without one.
    """
    return torch.stack([(focal_kind == kind).sum(0) for kind in range(KINDS)], dim=-1).double()


def exclusiveness(place: Int[Tensor, "*axes head"]) -> Float[Tensor, "*axes head"]:
    """1 / the number of heads of the layer with the same focal token; 0 for heads without one.

    Over the heads of a layer it adds up to the number of distinct focal tokens.

    Args:
        place: Where each head's focal token first occurs; -1 for heads without pairs.
    """
    alike = (place[..., :, None] == place[..., None, :]).sum(-1).double()
    return torch.where(place >= 0, 1 / alike, 0.0)
