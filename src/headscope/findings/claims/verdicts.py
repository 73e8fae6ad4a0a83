"""The verdicts of a run as a small table: a sequence that prints, and shows itself in notebooks."""

from collections.abc import Iterable, Sequence
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, overload

from headscope.findings.claims.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 100


class Verdicts(Sequence[Verdict]):
    """The verdict on each claim, for each stack: a list that is also a table.

    for verdict in run.claims(): ...
    run.claims()["range"]           # by the name of the claim
    run.claims().to_frame()         # a row per verdict
    """

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self._verdicts = list(verdicts)

    @overload
    def __getitem__(self, place: int | str) -> Verdict: ...
    @overload
    def __getitem__(self, place: slice) -> "Verdicts": ...
    def __getitem__(self, place: int | str | slice) -> "Verdict | Verdicts":
        """A verdict by its place or the name of its claim (the first stack's)."""
        if isinstance(place, slice):
            return Verdicts(self._verdicts[place])
        if not isinstance(place, str):
            return self._verdicts[place]
        for verdict in self._verdicts:
            if verdict.name == place:
                return verdict
        names = ", ".join(dict.fromkeys(verdict.name for verdict in self._verdicts))
        raise KeyError(f"no claim {place!r}; there are {names}")

    def __len__(self) -> int:
        return len(self._verdicts)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Verdicts):
            return self._verdicts == other._verdicts
        return self._verdicts == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def to_frame(self) -> "pd.DataFrame":
        """A row per verdict: claim, stack, status, effect with its interval, documents, summary."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "claim": verdict.name,
                    "stack": verdict.stack,
                    "status": verdict.status,
                    "effect": None if verdict.effect is None else verdict.effect.value,
                    "low": None if verdict.effect is None else verdict.effect.low,
                    "high": None if verdict.effect is None else verdict.effect.high,
                    "unit": verdict.finding.unit,
                    "documents": verdict.documents,
                    "summary": verdict.summary,
                }
                for verdict in self._verdicts
            ]
        )

    def __repr__(self) -> str:
        if not self._verdicts:
            return "no verdicts"
        rows = [(_title(verdict, self._several), verdict.status) for verdict in self._verdicts]
        first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
        lines = []
        for (title, status), verdict in zip(rows, self._verdicts, strict=True):
            start = f"{title:<{first}}  {status:<{second}}  "
            said = wrap(verdict.summary, _WIDTH - len(start)) or [""]
            lines += [start + said[0], *(" " * len(start) + line for line in said[1:])]
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(_title(verdict, self._several))}</td>"
            f"<td><b>{escape(verdict.status)}</b></td>"
            f'<td style="text-align:left">{escape(verdict.summary)}</td></tr>'
            for verdict in self._verdicts
        )
        titles = "".join(f"<th>{title}</th>" for title in ("claim", "verdict", "what was found"))
        return f"<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"

    @property
    def _several(self) -> bool:
        return len({verdict.stack for verdict in self._verdicts}) > 1


def _title(verdict: Verdict, several: bool) -> str:
    return f"{verdict.name} ({verdict.stack})" if several else verdict.name
