"""The stability of a run as the rows of a table."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from headscope.findings.findings_table import format_cell
from headscope.findings.stability import StabilityResult
from headscope.measures import MEASURES


@dataclass(frozen=True, slots=True)
class StabilityRow:
    """How stable one measure is over other windows, as text."""

    title: str
    correlation: str
    lowest: str
    reliability: str


@dataclass(frozen=True, slots=True)
class StackStability:
    """How stable the heads of a stack are."""

    subsets: int
    heads: int
    kept: int
    """Heads that keep their role in every subset."""
    rows: list[StabilityRow]


def stack_stability(result: StabilityResult | None, stack: str) -> StackStability | None:
    """What can be said of a stack; None where the windows cannot tell."""
    if result is None or result.subsets is None or result.reliability is None:
        return None
    roles = result.subsets.roles
    assert roles is not None, "runs know the roles of their heads"
    of_stack = roles[roles["stack"] == stack]
    table = result.subsets.agreement.merge(result.reliability, on=["stack", "measure"])
    table = table[(table["stack"] == stack) & table["rank_correlation"].notna()]
    return StackStability(
        subsets=len(result.subsets.texts),
        heads=len(of_stack),
        kept=int((of_stack["kept"] == 1).sum()),
        rows=[_row(record) for record in table.to_dict("records")],
    )


def _row(record: dict[Hashable, Any]) -> StabilityRow:
    name = str(record["measure"])
    title = MEASURES[name.removesuffix("_excess")].title
    return StabilityRow(
        title=f"{title}, beyond expectation" if name.endswith("_excess") else title,
        correlation=_cell(record["rank_correlation"]),
        lowest=_cell(record["lowest"]),
        reliability=(
            f"{_cell(record['reliability'])} [{_cell(record['low'])}, {_cell(record['high'])}]"
        ),
    )


def _cell(value: float) -> str:
    return format_cell(value, ".2f")
