"""Texts that a run could not measure: named, left out of every number, and counted."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

LeftOutKind = Literal["not finite", "memory"]


@dataclass(frozen=True, slots=True, order=True)
class LeftOut:
    """A text that is in the windows of a run and in none of its numbers."""

    text: int
    """Its number in the run."""
    document: str
    """The document that it is a window of."""
    kind: LeftOutKind
    """Whether the model wrote NaN or infinity, or memory did not suffice for this text alone."""
    reason: str
    """What happened, in words."""

    def __str__(self) -> str:
        return f"text {self.text} of document {self.document!r}: {self.reason}"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "LeftOut":
        """What a receipt says of a text; ValueError or KeyError where it makes no sense."""
        text, kind = values["text"], values["kind"]
        if not isinstance(text, int) or text < 0 or kind not in get_args(LeftOutKind):
            raise ValueError(f"{text!r} ({kind!r}) is no text that was left out")
        return cls(text, str(values["document"]), kind, str(values["reason"]))


def count_kinds(left_out: Iterable[LeftOut]) -> str:
    """How many texts were left out, and why: `3 (2 not finite, 1 memory)`."""
    kinds = Counter(text.kind for text in left_out)
    named = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    return f"{kinds.total()} ({named})" if kinds else "0"
