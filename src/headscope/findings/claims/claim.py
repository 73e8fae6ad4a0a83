"""What a claim is, and what a verdict on it says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headscope.findings.resampling.bootstrap import Interval

if TYPE_CHECKING:
    from headscope.findings.claims.evidence import Evidence

Status = Literal["holds", "fails", "undecided", "cannot answer"]

MIN_WINDOWS = 20
"""A run of fewer windows answers no claim: bootstrap intervals over them are too narrow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a claim's test found in one stack."""

    status: Status
    effect: Interval | None
    """The effect that the verdict rests on; None where there is no answer."""
    unit: str
    null: Interval | None
    """The same number under the null; None where the null is a fixed number."""
    p_value: float | None
    """Of a test over many heads or a permutation test; None where the verdict rests on neither."""
    summary: str
    """One sentence with the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper, made testable."""

    name: str
    title: str
    paper: str
    """The paper's words."""
    definition: str
    """What is measured, and what must hold."""
    null: str
    """What it is measured against."""
    breaks: str
    """What would count against the claim."""
    figure: str
    """The figure that shows it."""
    judge: "Callable[[Evidence], Finding]"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim judged on one stack of a run."""

    claim: Claim
    stack: str
    finding: Finding

    @property
    def name(self) -> str:
        """The claim's name."""
        return self.claim.name

    @property
    def status(self) -> Status:
        """holds, fails, undecided or cannot answer."""
        return self.finding.status

    @property
    def effect(self) -> Interval | None:
        """The effect that the verdict rests on."""
        return self.finding.effect

    @property
    def summary(self) -> str:
        """One sentence with the numbers."""
        return self.finding.summary


def against_bar(effect: Interval, bar: float) -> Status:
    """holds when the whole interval lies above the bar, fails when it lies below."""
    if effect.low > bar:
        return "holds"
    if effect.high < bar:
        return "fails"
    return "undecided"


def no_answer(reason: str) -> Finding:
    """The finding of a run that cannot answer a claim, and why it cannot."""
    return Finding(
        status="cannot answer", effect=None, unit="", null=None, p_value=None, summary=reason
    )


NO_UNTRAINED = no_answer("there is no untrained model to compare with: analyse with --nulls 200")
"""The finding of a claim that is judged against the untrained model, in a run without one."""
