"""A verdict: a claim judged on one stack of a run, and under every analysis choice."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from headscope.findings.claims.claim import Claim, Finding, Status
from headscope.findings.resampling.bootstrap import Interval

DECIDED: tuple[Status, ...] = ("holds", "fails")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to analyse: None for what a claim does not depend on."""

    pairs: str | None = None
    similarity: str | None = None
    attention_threshold: float | None = None

    def __str__(self) -> str:
        parts = [self.similarity, self.pairs]
        if self.attention_threshold is not None:
            parts.append(f"threshold {self.attention_threshold:g}")
        return " ".join(part for part in parts if part) or "all attention"


@dataclass(frozen=True, slots=True)
class ChoiceVerdict:
    """What a claim comes to under one choice, on the sample of the run."""

    choice: Choice
    status: Status
    effect: Interval | None


@dataclass(frozen=True, slots=True)
class Robustness:
    """A claim under every choice."""

    choices: tuple[ChoiceVerdict, ...]

    def count(self, status: Status) -> int:
        """Number of choices with a status."""
        return sum(choice.status == status for choice in self.choices)

    @property
    def decided_both_ways(self) -> bool:
        """Whether it holds under some choices and fails under others."""
        return all(self.count(status) for status in DECIDED)

    def sentence(self) -> str:
        """How many choices say what, and which disagree with most: one sentence."""
        counts = Counter(choice.status for choice in self.choices)
        total = len(self.choices)
        (most, number), *_ = counts.most_common()
        if number == total:
            return f"{_verb(most)} under all {total} choices"
        parts = [f"{_verb(most)} under {number} of {total} choices"]
        for status, fewer in counts.most_common()[1:]:
            where = self._where(status)
            parts.append(f"{_verb(status)} under {fewer}" + (f" ({where})" if where else ""))
        return "; ".join(parts)

    def _where(self, status: Status) -> str:
        """The choices of a status in as few words as possible."""
        inside = [verdict.choice for verdict in self.choices if verdict.status == status]
        outside = [verdict.choice for verdict in self.choices if verdict.status != status]
        for axis in ("similarity", "pairs", "attention_threshold"):
            values = list(dict.fromkeys(getattr(choice, axis) for choice in inside))
            others = {getattr(choice, axis) for choice in outside}
            if None not in values and not set(values) & others and len(values) <= 4:
                return f"with {_listed(values)}"
        if len(inside) <= 4:
            return ", ".join(map(str, inside))
        return _mostly(inside, outside)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim judged on one stack of a run."""

    claim: Claim
    stack: str
    finding: Finding
    """By the run's own choice, on the whole run where that has what the claim needs."""
    documents: int
    robustness: Robustness | None = None
    """Under every choice, on the sample; None where there is no sample."""

    @property
    def name(self) -> str:
        """The claim's name."""
        return self.claim.name

    @property
    def status(self) -> Status:
        """holds, fails, undecided, cannot answer; depends if choices decide it both ways."""
        own = self.finding.status
        if own == "cannot answer" or self.robustness is None:
            return own
        decided = {choice.status for choice in self.robustness.choices} | {own}
        return "depends" if set(DECIDED) <= decided else own

    @property
    def effect(self) -> Interval | None:
        """The effect that the verdict rests on."""
        return self.finding.effect

    @property
    def summary(self) -> str:
        """One sentence with the numbers, and one on the choices."""
        if self.robustness is None or self.finding.status == "cannot answer":
            return self.finding.summary
        return f"{self.finding.summary}. {self.choices_sentence}"

    @property
    def choices_sentence(self) -> str:
        """What the choices say, and what the run says where no choice agrees; empty without any."""
        if self.robustness is None:
            return ""
        sentence = self.robustness.sentence()
        own = self.finding.status
        if own in DECIDED and not self.robustness.count(own):
            sentence = f"{_verb(own)} on the whole run; on its sample, {sentence}"
        return sentence[:1].upper() + sentence[1:]

    def __repr__(self) -> str:
        effect = "" if self.effect is None else f", {self.effect}"
        return f"Verdict({self.name}, {self.stack}: {self.status}{effect})"


def _verb(status: Status) -> str:
    return {
        "holds": "holds",
        "fails": "fails",
        "undecided": "is undecided",
        "cannot answer": "cannot be answered",
        "depends": "depends",
    }[status]


def _listed(values: Sequence[object]) -> str:
    words = [f"threshold {value:g}" if isinstance(value, float) else str(value) for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _mostly(inside: Sequence[Choice], outside: Sequence[Choice]) -> str:
    """The value that most of these choices have, and few others."""
    values = [
        (axis, value)
        for axis in ("similarity", "pairs")
        for value in {getattr(choice, axis) for choice in inside}
        if value is not None
    ]
    kinds = [("kind", kind) for kind in ("top", "max")]

    def has(choice: Choice, axis: str, value: object) -> bool:
        if axis == "kind":
            return (choice.pairs or "").startswith(f"{value}:")
        return bool(getattr(choice, axis) == value)

    def share(axis: str, value: object) -> float:
        ours = sum(has(choice, axis, value) for choice in inside) / len(inside)
        theirs = sum(has(choice, axis, value) for choice in outside) / max(len(outside), 1)
        return ours - theirs

    axis, value = max(sorted([*values, *kinds], key=str), key=lambda pair: share(*pair))
    word = f"{value} rules" if axis == "kind" else str(value)
    return f"mostly with {word}"
