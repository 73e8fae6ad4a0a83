"""Writes the table of families in docs/architectures.md, residuals included.

    python -m tools.write_families

Each family of tests/models/families.py is built, loaded and checked, so this takes a minute or two.
"""

from pathlib import Path

from headscope.models import SelfCheck, load_model
from tests.models.families import FAMILIES, Family, build
from tools.marks import content, filled

PAGE = Path(__file__).parents[1] / "docs" / "architectures.md"
PART = "families"
FACTS = ("family", "reads", "tier", "stacks", "notes")
RESIDUALS = ("product", "projection", "rows", "padding", "output")


def facts(family: Family) -> tuple[str, ...]:
    """What the list of families says about one, without running it."""
    stacks = ", ".join(family.stacks) or "none"
    return (family.title, family.modality, family.tier, stacks, family.note)


def table() -> str:
    """The table, with the residuals of the self-check of each family."""
    rows = [(*FACTS, *RESIDUALS), ("---",) * (len(FACTS) + len(RESIDUALS))]
    for family in FAMILIES:
        check = None if family.refused else load_model(build(family)).check
        rows.append((*facts(family), *(_residual(check, name) for name in RESIDUALS)))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def facts_on_page() -> list[tuple[str, ...]]:
    """The columns of the page's table that are not measured."""
    lines = content(PAGE.read_text(), PART).splitlines()[2:]
    return [
        tuple(cell.strip() for cell in line.strip("|").split("|"))[: len(FACTS)] for line in lines
    ]


def _residual(check: SelfCheck | None, name: str) -> str:
    value = None if check is None else getattr(check, name)
    return "-" if value is None else "0" if value == 0 else f"{value:.0e}"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(), PART, table()))
