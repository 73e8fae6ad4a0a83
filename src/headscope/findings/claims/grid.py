"""A claim under every analysis choice as a small grid, which terminals and pages show."""

from dataclasses import dataclass

from headscope.findings.claims.claim import Status
from headscope.findings.claims.verdict import Choice, ChoiceVerdict, Verdict

SIGNS: dict[Status, str] = {
    "holds": "H",
    "fails": "F",
    "undecided": "?",
    "cannot answer": "-",
    "depends": "D",
}
"""A verdict in one character, where there is no room for a word."""

_GROUPS = {
    "top": "top: this share of the pairs, the most similar",
    "max": "max: pairs from this fraction of the largest similarity",
    "all": "every token",
    "threshold": "tokens from this fraction of the largest attention",
}


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column of a grid: a pair rule, or an attention threshold."""

    kind: str
    """top, max, all or threshold."""
    title: str
    """What differs within the kind: `0.2%`, `0.3`."""

    @property
    def group(self) -> str:
        """What columns of its kind have in common, in words."""
        return _GROUPS.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True)
class GridCell:
    """The claim under one choice."""

    choice: Choice
    status: Status
    words: str
    """Choice, verdict and effect."""
    own: bool
    """Whether this is the choice that the run was made with."""


@dataclass(frozen=True, slots=True)
class GridRow:
    """A variant of similarity, or attention."""

    title: str
    cells: tuple[GridCell | None, ...]
    """One for each column; None where that choice was not tried."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows are variants of similarity and columns pair rules, or one row of thresholds."""

    columns: tuple[GridColumn, ...]
    rows: tuple[GridRow, ...]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The columns that follow each other with one group: what it is, and how many."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and found[-1][0] == column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return found


def grid_of(verdict: Verdict, own: Choice) -> Grid | None:
    """The grid of a verdict; None where the claim was not tried under other choices.

    Args:
        verdict: The verdict.
        own: The pair rule and the variant of similarity of the run.
    """
    if verdict.robustness is None:
        return None
    tried = list(verdict.robustness.choices)
    if verdict.claim.varies_with == "attention_threshold":
        # The run's own verdict takes all attention, whatever the threshold.
        own = Choice()
        tried.insert(0, ChoiceVerdict(own, verdict.finding.status, verdict.finding.effect))
    columns = sorted({_place(one.choice) for one in tried})
    rows = list(dict.fromkeys(one.choice.similarity for one in tried))
    cells = {(one.choice.similarity, _place(one.choice)): one for one in tried}
    return Grid(
        tuple(GridColumn(kind, title) for _, _, kind, title in columns),
        tuple(
            GridRow(row or "attention", tuple(_cell(cells.get((row, at)), own) for at in columns))
            for row in rows
        ),
    )


def count_signs(verdict: Verdict) -> str:
    """How many choices say what: `20H 6F 4?`; empty where none were tried.

    Args:
        verdict: The verdict.
    """
    if verdict.robustness is None:
        return ""
    counts = ((verdict.robustness.count(status), sign) for status, sign in SIGNS.items())
    return " ".join(f"{number}{sign}" for number, sign in counts if number)


def _cell(verdict: ChoiceVerdict | None, own: Choice) -> GridCell | None:
    if verdict is None:
        return None
    effect = "" if verdict.effect is None else f", {verdict.effect}"
    words = f"{verdict.choice}: {verdict.status}{effect}"
    return GridCell(verdict.choice, verdict.status, words, verdict.choice == own)


def _place(choice: Choice) -> tuple[int, float, str, str]:
    """Where the column of a choice stands: its order, its number, its kind and its title."""
    if choice.pairs is not None:
        kind, _, number = choice.pairs.partition(":")
        value = float(number)
        title = f"{100 * value:g}%" if kind == "top" else f"{value:g}"
        return (0 if kind == "top" else 1), value, kind, title
    if choice.attention_threshold is not None:
        return 1, choice.attention_threshold, "threshold", f"{choice.attention_threshold:g}"
    return 0, 0.0, "all", "all"
