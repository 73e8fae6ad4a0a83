"""Windows that a run could not measure: named, left out of every number, and counted."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

LeftOutKind = Literal["not finite", "memory"]


@dataclass(frozen=True, slots=True, order=True)
class LeftOut:
    """A window of a run that is in none of its numbers."""

    text: int
    """The number of the window in the run."""
    document: str
    """The document that it is a window of."""
    kind: LeftOutKind
    """Whether the model wrote NaN or infinity, or this window alone did not fit into memory."""
    reason: str
    """What happened, in words."""

    def __str__(self) -> str:
        return f"window {self.text} of document {self.document!r}: {self.reason}"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "LeftOut":
        """What a receipt says of a window; ValueError or KeyError where it makes no sense."""
        number, kind = values["text"], values["kind"]
        document, reason = values["document"], values["reason"]
        if type(number) is not int or number < 0 or kind not in get_args(LeftOutKind):
            raise ValueError(
                f"{str(number)[:20]} ({str(kind)[:20]!r}) is not a window that was left out"
            )
        if not (isinstance(document, str) and isinstance(reason, str)):
            raise ValueError(f"window {number} has no document, or no reason")
        return cls(number, document, kind, reason)


def count_kinds(left_out: Iterable[LeftOut]) -> str:
    """How many windows were left out, and why: `3 (2 not finite, 1 memory)`."""
    kinds = Counter(window.kind for window in left_out)
    named = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    return f"{kinds.total()} ({named})" if kinds else "0"
