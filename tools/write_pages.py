"""Writes the parts of the documentation that the registries say.

    python -m tools.write_pages

Each part stands between marks in its page (see marks.py). A measure, column, figure, reader, claim
or role that is added to its registry appears in the docs when this is run; tests/test_docs.py
fails until then. To add a part, write a function from a registry to Markdown, and list it in
`PARTS`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from headscope.findings.claims import CLAIMS, Claim
from headscope.findings.roles import BROAD_ABOVE, LOCAL_BELOW, ROLES, Role
from headscope.measures import MEASURES, Measure
from headscope.measures.columns import COLUMNS, Column
from headscope.measures.signal import SIGNAL_MEASURES, SignalMeasure
from headscope.pages.figures import FIGURES, RunFigure
from headscope.text.readers import READERS, Reader
from tools.marks import filled

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@dataclass(frozen=True)
class Part:
    """A generated part of a page."""

    page: Path
    text: Callable[[], str]


def measures_text(measures: Iterable[Measure]) -> str:
    """A section per measure: definition, formula, expectation, when it misleads, source."""
    sections = []
    for measure in measures:
        formula = f"`{measure.numerator}` / `{measure.denominator}`"
        if measure.scale != 1:
            formula = f"{measure.scale:g} x {formula}"
        expected = f"`{measure.expected}`" if measure.expected else "none"
        sections.append(
            f"## {measure.name}\n\n"
            f"{measure.definition}\n\n"
            f"- formula: {formula}\n"
            f"- unit: {measure.unit}\n"
            f"- expectation: {expected}\n"
            f"- misleads: {measure.misleads}\n"
            f"- source: {measure.source}\n"
        )
    return "\n".join(sections)


def signal_text(measures: Iterable[SignalMeasure]) -> str:
    """A section per measure of the sample."""
    return "\n".join(
        f"## {measure.name}\n\n"
        f"{measure.definition}\n\n"
        f"- unit: {measure.unit}\n"
        f"- expectation: {'`' + measure.name + '_expected`' if measure.expected else 'none'}\n"
        f"- misleads: {measure.misleads}\n"
        f"- source: {measure.source}\n"
        for measure in measures
    )


def columns_text(columns: Iterable[Column]) -> str:
    """A table of the columns of the shards' rows."""
    return _table(
        ("column", "type", "meaning"),
        ((f"`{column.name}`", _type_name(column.type), column.meaning) for column in columns),
    )


def figures_text(figures: Iterable[RunFigure]) -> str:
    """A table of the figures of a run."""
    return _table(
        ("figure", "in the report", "what it shows"),
        (
            (
                f"[{figure.name}](#{figure.name})",
                "yes" if figure.in_report else "no",
                figure.caption,
            )
            for figure in figures
        ),
    )


def readers_text(readers: Iterable[Reader]) -> str:
    """A table of the file formats that corpora come in."""
    return _table(
        ("format", "endings", "what a document is"),
        (
            (reader.name, " ".join(f"`{ending}`" for ending in reader.endings), reader.holds)
            for reader in readers
        ),
    )


def claims_text(claims: Iterable[Claim]) -> str:
    """A table of the claims that are judged."""
    return _table(
        ("claim", "in words", "what is measured, and when it holds", "compared with", "figure"),
        (
            (
                f"`{claim.name}`",
                claim.title,
                claim.definition,
                claim.null,
                f"[{claim.figure}](figures.md#{claim.figure})",
            )
            for claim in claims
        ),
    )


def roles_text(roles: Iterable[Role]) -> str:
    """A table of the roles of heads, and the rule for heads without a clear trait."""
    table = _table(
        ("letter", "role", "what the head shows", "lowest bar"),
        (
            (role.letter, role.name, role.meaning, f"{role.trait.bar:g}" if role.trait else "-")
            for role in roles
        ),
    )
    return (
        f"{table}\n\nA head without a clear trait is *local* if its mean distance is at most "
        f"{LOCAL_BELOW:g} of that of random pairs,\n*broad* if it is at least {BROAD_ABOVE:g} of "
        "it, and *none* (no clear role) otherwise."
    )


PARTS = {
    "measures": Part(DOCS / "measures.md", lambda: measures_text(MEASURES)),
    "signal": Part(DOCS / "measures.md", lambda: signal_text(SIGNAL_MEASURES)),
    "columns": Part(DOCS / "run-format.md", lambda: columns_text(COLUMNS)),
    "figures": Part(DOCS / "figures.md", lambda: figures_text(FIGURES)),
    "readers": Part(DOCS / "corpora.md", lambda: readers_text(READERS)),
    "claims": Part(DOCS / "claims.md", lambda: claims_text(CLAIMS)),
    "roles": Part(DOCS / "roles.md", lambda: roles_text(ROLES)),
}
"""By the name in the marks."""


def part(name: str) -> str:
    """The text of a part, as the registries are now.

    Args:
        name: One of `PARTS`.
    """
    return PARTS[name].text()


def write_pages() -> Iterator[Path]:
    """Write every part into its page; gives the pages that have changed."""
    for name, made in PARTS.items():
        old = made.page.read_text()
        new = filled(old, name, made.text())
        if new != old:
            made.page.write_text(new)
            yield made.page


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [titles, ("---",) * len(titles), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _type_name(kind: pa.DataType) -> str:
    # Arrow says float and double; everyone else says how many bits.
    return {"float": "float32", "double": "float64"}.get(str(kind), str(kind))


if __name__ == "__main__":
    for changed in write_pages():
        print(changed.relative_to(ROOT))
