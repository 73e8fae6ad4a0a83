"""What a claim is, and what a test of it on one stack finds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headscope.findings.resampling.bootstrap import Interval

if TYPE_CHECKING:
    from headscope.findings.claims.evidence import Evidence

Status = Literal["holds", "fails", "undecided", "depends", "cannot answer"]

MIN_DOCUMENTS = 20
"""Fewer documents answer no claim: intervals over them do not cover. Copies of a text are one."""

Axis = Literal["pairs", "attention_threshold"]
"""What a claim may hang on: pair rule and variant of C, or the attention threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One comparison that a verdict rests on."""

    name: str
    effect: Interval
    bar: float
    """The claim wants the effect to be larger."""
    unit: str
    null: Interval | None = None
    """The number that the effect is compared with; None where that is a fixed one."""

    @property
    def status(self) -> Status:
        """holds when the whole interval lies above the bar, fails when it lies below."""
        if self.effect.low > self.bar:
            return "holds"
        if self.effect.high < self.bar:
            return "fails"
        return "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a claim's test found in one stack."""

    status: Status
    effect: Interval | None
    """The effect that the verdict rests on; None where there is no answer."""
    unit: str
    null: Interval | None
    """The same number under the null; None where the null is a fixed number."""
    p_value: float | None = None
    """Of a test over many heads or a permutation test; None where the verdict rests on neither."""
    summary: str
    """One sentence with the numbers."""
    tests: tuple[Test, ...] = ()
    """All comparisons, where the verdict rests on several."""
    heads: tuple[str, ...] = ()
    """The heads beyond the bar, the strongest first; where there is none, the strongest. Written
    `layer 3 head 7`."""


def find_all(tests: Sequence[Test], summary: str) -> Finding:
    """The finding of a claim that asks for several things at once.

    It holds when every test does, and fails when one does. The effect is that of the test which
    decides: the first that fails, else the first that is undecided, else the first.

    Args:
        tests: In the order of importance.
        summary: One sentence with the numbers.
    """
    by_status = {test.status: test for test in reversed(tests)}
    status: Status = next(s for s in ("fails", "undecided", "holds") if s in by_status)
    deciding = by_status[status]
    return Finding(
        status=status,
        effect=deciding.effect,
        unit=deciding.unit,
        null=deciding.null,
        summary=summary,
        tests=tuple(tests),
    )


def no_answer(reason: str) -> Finding:
    """The finding of a run that cannot answer a claim, and why it cannot."""
    return Finding(status="cannot answer", effect=None, unit="", null=None, summary=reason)


NO_UNTRAINED = no_answer("there is no untrained model to compare with: analyse with --nulls 20")
"""The finding of a claim that is judged against the untrained model, in a run without one."""

NO_SAMPLE = no_answer(
    "whole attention maps are needed, which a run keeps for its sample alone: analyse with "
    "--robustness 200"
)
"""The finding of a claim that looks at attention maps, in a run without a sample."""


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
    """Judges one choice: the columns of the evidence are those of that choice."""
    varies_with: Axis = "pairs"
    """Which choices the verdict is tried under."""
    on_sample: bool = False
    """Whether only the sample has what it needs, such as whole attention maps."""
