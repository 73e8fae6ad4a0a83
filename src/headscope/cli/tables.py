"""Tables on standard output: one look for all commands, and how their numbers are written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headscope.system.terminal import visible


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    number: bool = False
    """Numbers stand on the right, and their titles wrap; words stand on the left."""
    wrap: bool = False
    """Whether the cells of a column of words may take several lines."""
    min_width: int = 0


def print_table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str] | None],
    *,
    title: str | None = None,
    caption: str | None = None,
    gap: int = 1,
    narrow: bool = False,
) -> None:
    """Print a table. In a terminal that is too narrow its lines wrap; nothing is cut.

    Control characters are written out, wherever a cell comes from.

    Args:
        columns: Its columns, from left to right.
        rows: The cells of each row, which may have rich markup: escape what users named. None
            draws a line.
        title: Above it, as plain text.
        caption: Below it, as plain text.
        gap: Spaces between columns.
        narrow: Whether columns of numbers are as narrow as they can be, and lines have no margin.
    """
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, gap, 0, 0),
        pad_edge=False,
        show_edge=not narrow,
        title=None if title is None else escape(visible(title)),
        title_justify="left",
        caption=None if caption is None else escape(visible(caption)),
        caption_justify="left",
    )
    rows = list(rows)
    for place, column in enumerate(columns):
        longest_word = max(map(len, column.title.split()), default=0)
        table.add_column(
            escape(visible(column.title, keep="\n")),
            justify="right" if column.number else "left",
            no_wrap=not (column.number or column.wrap),
            overflow="fold",
            # No word of a title is cut: it wraps at spaces alone.
            min_width=max(column.min_width, longest_word),
            width=max([longest_word, *(len(row[place]) for row in rows if row)])
            if narrow and column.number
            else None,
        )
    for row in rows:
        if row is None:
            table.add_section()
        else:
            table.add_row(*(visible(words, keep="\n") for words in row))
    Console(highlight=False).print(table, crop=False)


def cell(value: Any, form: str) -> str:
    """The number as text; a dash for one that is absent.

    >>> cell(0.25, ".1%"), cell(float("nan"), ".1%")
    ('25.0%', '-')
    """
    return "-" if value != value else format(value, form)
