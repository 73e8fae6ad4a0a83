"""The verdicts on one stack and the heads they name, so that the role map can point at them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headscope.findings.claims import StackEvidence, Verdict, judge

_HEAD = re.compile(r"layer (\d+) head (\d+)")


@dataclass(frozen=True)
class Judged:
    """What was judged of a stack."""

    evidence: StackEvidence
    verdicts: Sequence[Verdict]

    @classmethod
    def of(cls, evidence: StackEvidence) -> "Judged":
        """The verdict on every claim.

        Args:
            evidence: What they are judged on.
        """
        return cls(evidence, judge(evidence))

    @property
    def heads(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        """By claim, the layer and head of the heads that its verdict names, the strongest first."""
        return {
            verdict.name: [_place(name) for name in verdict.finding.heads]
            for verdict in self.verdicts
        }

    @property
    def claims(self) -> Mapping[tuple[int, int], Sequence[str]]:
        """By layer and head, the claims whose verdict finds the head beyond the bar."""
        named: dict[tuple[int, int], list[str]] = {}
        for verdict in self.verdicts:
            if verdict.finding.status == "holds":
                for place in self.heads[verdict.name]:
                    named.setdefault(place, []).append(verdict.name)
        return named


def _place(name: str) -> tuple[int, int]:
    found = _HEAD.fullmatch(name)
    assert found is not None, f"{name!r} names no head"
    return int(found[1]), int(found[2])
