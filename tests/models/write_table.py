"""Writes the table of docs/architectures.md: python -m tests.models.write_table"""

import re
from pathlib import Path

from headscope.models import SelfCheck, load_model
from tests.models.families import FAMILIES, Family, build

PAGE = Path(__file__).parents[2] / "docs" / "architectures.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
FACTS = ("family", "reads", "tier", "stacks", "notes")
RESIDUALS = ("product", "projection", "rows", "padding", "output")


def facts(family: Family) -> tuple[str, ...]:
    """What the list says of a family, without running it."""
    stacks = ", ".join(family.stacks) or "none"
    return (family.title, family.modality, family.tier, stacks, family.note)


def table() -> str:
    rows = [(*FACTS, *RESIDUALS), ("---",) * (len(FACTS) + len(RESIDUALS))]
    for family in FAMILIES:
        check = None if family.refused else load_model(build(family)).check
        rows.append((*facts(family), *(_residual(check, name) for name in RESIDUALS)))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def facts_on_page() -> list[tuple[str, ...]]:
    """The columns of the page's table that are not measured."""
    _, rows, _ = _around(PAGE.read_text())
    lines = rows.splitlines()[2:]
    return [
        tuple(cell.strip() for cell in line.strip("|").split("|"))[: len(FACTS)] for line in lines
    ]


def _residual(check: SelfCheck | None, name: str) -> str:
    value = None if check is None else getattr(check, name)
    return "-" if value is None else "0" if value == 0 else f"{value:.0e}"


def _around(page: str) -> tuple[str, str, str]:
    """What stands before, in and behind the marks."""
    match = re.fullmatch(f"(.*{BEGIN}\n)(.*)({END}.*)", page, re.DOTALL)
    assert match, f"{PAGE.name} has lost its marks {BEGIN} and {END}"
    return match.group(1), match.group(2), match.group(3)


if __name__ == "__main__":
    before, _, behind = _around(PAGE.read_text())
    PAGE.write_text(f"{before}{table()}\n{behind}")
