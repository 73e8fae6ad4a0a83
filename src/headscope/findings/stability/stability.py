"""The stability of a run: over random subsets, over domains, and over random halves of its windows.

One pass over the rows answers all three: the sums of every group of windows are weighted sums of
the same rows, and every number comes from such sums by its measure's formula.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
from numpy.typing import NDArray

from headscope.errors import SettingsError
from headscope.findings.resampling.documents import document_numbers
from headscope.findings.resampling.weighted_sums import HEAD_KEYS, WeightedSums, weighted_sums
from headscope.findings.stability.compare_groups import (
    GroupComparison,
    compare,
    findings,
    head_tables,
    mean_difference,
    stack_slices,
)
from headscope.findings.stability.reliability import split_half_reliability
from headscope.findings.stability.window_groups import (
    WindowGroups,
    labelled_groups,
    permuted_groups,
    random_halves,
    random_subsets,
)
from headscope.measures import measured_columns

Domain = Literal["label", "document"]
"""What a domain may be: the label of a window, or its document."""

RolesOf = Callable[[pd.DataFrame], pd.DataFrame]
"""From a table like `run.heads` to one with stack, layer, head and role."""

MOST_SUBSETS = MOST_DOMAINS = 20
"""More subsets or domains than this make tables that nobody reads."""
PERMUTATIONS = 20
"""How often documents are permuted between domains, to see what chance gives."""


def domain_of(name: str) -> Domain:
    """The kind of domain of that name; any other name is refused."""
    for kind in get_args(Domain):
        if name == kind:
            return cast("Domain", kind)
    raise SettingsError(f"by: {name!r} is unknown; choose one of {', '.join(get_args(Domain))}")


@dataclass(frozen=True, slots=True)
class StabilityResult:
    """Whether heads measure the same over other windows."""

    texts: int
    """Number of windows."""
    documents: int
    """Number of documents, in which copies of a text count as one."""
    subsets: GroupComparison | None
    """Random disjoint subsets of whole documents."""
    reliability: pd.DataFrame | None
    """A row per stack and measure: split-half `reliability` over heads, with `low` and `high`."""
    domains: GroupComparison | None
    """The domains of the corpus."""
    unanswered: tuple[str, ...]
    """What these windows cannot tell, and why."""


def stability(
    rows: ds.Dataset,
    windows: ds.Dataset,
    *,
    subset: int = 5000,
    subsets: int | None = None,
    by: Domain = "label",
    splits: int = 100,
    seed: int = 0,
    roles_of: RolesOf | None = None,
) -> StabilityResult:
    """How heads vary over subsets of about `subset` windows, over domains, and over halves.

    A run with fewer windows than two subsets need is cut into two halves. `Run.stability` describes
    the parameters.
    """
    _refuse_senseless(subset, subsets, splits, seed)
    table = windows.to_table(columns=["document", "label"]).to_pandas()
    (document,) = document_numbers(windows)
    plan = _plan(table, document, subset, subsets, by, splits, seed)
    sums = weighted_sums(rows, measured_columns(), np.concatenate(plan.parts))
    whole, of_subsets, of_halves, of_domains, of_chance = plan.cut(sums)

    result = StabilityResult(
        texts=len(table),
        documents=int(document.max()) + 1,
        subsets=compare(plan.subsets, of_subsets) if plan.subsets else None,
        reliability=split_half_reliability(of_halves) if plan.subsets else None,
        domains=compare(plan.domains, of_domains) if plan.domains else None,
        unanswered=(*plan.unanswered, *_without_value(whole)),
    )
    if result.domains is not None:
        chance = _with_chance(result.domains, of_chance)
        result = replace(result, domains=chance)
    if roles_of is not None:
        result = _with_roles(result, head_tables(("all",), whole), roles_of)
    return result


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which windows are to be summed: the parts follow each other as rows of one matrix."""

    parts: Sequence[NDArray[np.bool_]]
    """The whole run, the subsets, the halves, the domains, and the permuted domains."""
    subsets: WindowGroups | None
    domains: WindowGroups | None
    unanswered: tuple[str, ...]

    def cut(self, sums: WeightedSums) -> list[WeightedSums]:
        """The sums of each part."""
        ends = np.cumsum([len(part) for part in self.parts]).tolist()
        return [
            sums.choices(slice(end - len(part), end))
            for part, end in zip(self.parts, ends, strict=True)
        ]


def _plan(
    table: pd.DataFrame,
    document: NDArray[np.int64],
    subset: int,
    subsets: int | None,
    by: Domain,
    splits: int,
    seed: int,
) -> _Plan:
    # Each question has its own random numbers: none changes with what else is asked.
    for_subsets, for_halves, for_chance = (np.random.default_rng([seed, k]) for k in range(3))
    n, documents = len(table), int(document.max()) + 1
    none = np.zeros((0, n), dtype=bool)
    unanswered: list[str] = []

    random, halves = None, none
    if documents < 2:
        what = "one window" if n == 1 else "one document"
        unanswered.append(f"subsets and reliability: the run has {what}; two documents are needed")
    else:
        asked = subsets or min(max(2, n // subset), MOST_SUBSETS)
        number = min(asked, documents)
        if number < asked:
            unanswered.append(
                f"{asked} subsets: the run has {documents} documents, so there are {number}"
            )
        random = random_subsets(document, min(subset, math.ceil(n / number)), number, for_subsets)
        halves = random_halves(document, splits, for_halves).reshape(-1, n)

    labels = [None if pd.isna(label) else str(label) for label in table[by]]
    domains = labelled_groups(labels, MOST_DOMAINS)
    unit = document if by == "label" else np.arange(n)
    chance = none
    if len(domains.names) < 2:
        found = f"all have {domains.names[0]!r}" if domains.names else "no window has one"
        hint = "; analyze takes labels from --label-column" if by == "label" else ""
        unanswered.append(f"domains: two {by}s are needed, {found}{hint}")
    elif len(np.unique(unit[domains.member.any(axis=0)])) == len(domains.names):
        unanswered.append(
            f"domains by chance: every {by} is one {'document' if by == 'label' else 'window'}, so "
            "that the two cannot be told apart"
        )
    else:
        chance = np.concatenate(
            [permuted_groups(domains, unit, for_chance) for _ in range(PERMUTATIONS)]
        )
    whole = np.ones((1, n), dtype=bool)
    return _Plan(
        parts=(whole, random.member if random else none, halves, domains.member, chance),
        subsets=random,
        domains=domains if len(domains.names) > 1 else None,
        unanswered=tuple(unanswered),
    )


def _with_chance(domains: GroupComparison, chance: WeightedSums) -> GroupComparison:
    """The comparison with the difference between permuted domains added to it."""
    size = len(domains.texts)
    by_chance = {
        (stack, name): np.mean(
            [mean_difference(one) for one in values[:, places].reshape(-1, size, len(places))]
        )
        for name, values in findings(chance).items()
        for stack, places in stack_slices(chance.heads).items()
        if len(values)
    }
    keys = zip(domains.agreement["stack"], domains.agreement["measure"], strict=True)
    column = [by_chance.get(key, float("nan")) for key in keys]
    return replace(domains, agreement=domains.agreement.assign(difference_by_chance=column))


def _with_roles(result: StabilityResult, whole: pd.DataFrame, roles_of: RolesOf) -> StabilityResult:
    def kept(groups: GroupComparison | None) -> GroupComparison | None:
        if groups is None:
            return None
        keys = list(HEAD_KEYS)
        roles = roles_of(whole.drop(columns="group")).set_index(keys)["role"]
        same = [
            roles_of(heads.drop(columns="group")).set_index(keys)["role"].reindex(roles.index)
            == roles
            for _, heads in groups.heads.groupby("group")
        ]
        share = pd.concat(same, axis=1).mean(axis=1)
        return replace(groups, roles=pd.DataFrame({"role": roles, "kept": share}).reset_index())

    return replace(result, subsets=kept(result.subsets), domains=kept(result.domains))


def _without_value(whole: WeightedSums) -> list[str]:
    return [
        f"{name} ({stack}): no head has a value in these windows"
        for stack, places in stack_slices(whole.heads).items()
        for name, values in findings(whole).items()
        if not name.endswith("_excess") and np.isnan(values[:, places]).all()
    ]


def _refuse_senseless(subset: int, subsets: int | None, splits: int, seed: int) -> None:
    if subset < 1 or splits < 1 or seed < 0:
        raise SettingsError("subset and splits: must be at least 1; seed: must not be negative")
    if subsets is not None and subsets < 2:
        raise SettingsError(f"subsets: {subsets} is too few; compare at least two")
