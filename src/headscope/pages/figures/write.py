"""Figures as files: PNG to look at, SVG and PDF to print."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from headscope.errors import SettingsError
from headscope.pages.figures import FIGURES, NothingToDraw, StackFindings, draw_figure
from headscope.pages.figures.style import style
from headscope.runs.files import write_whole

# No dates and no versions: same input, same bytes.
_METADATA: Mapping[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(_METADATA)


@dataclass(frozen=True, slots=True)
class WrittenFigures:
    """The figures that were written, and those that were not."""

    files: tuple[Path, ...]
    left_out: Mapping[str, str]
    """Figures that the run has nothing to show in, and why."""


def write_figures(
    stacks: Mapping[str, StackFindings],
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    only: Sequence[str] = (),
    suffixed: bool = False,
    within: Path | None = None,
) -> WrittenFigures:
    """Write the figures (all, unless `only` names some) of each stack as `NAME.FORMAT`.

    With `suffixed` the stack is part of the name: `summed-decoder.png`. `within` is the run folder,
    if that is where they go.
    """
    chosen = [FIGURES[name] for name in only] or list(FIGURES)
    for kind in formats:
        _refuse_unknown_format(kind)
    files: list[Path] = []
    left_out: dict[str, str] = {}
    for stack, findings in stacks.items():
        for name in (figure.name for figure in chosen):
            stem = f"{name}-{stack}" if suffixed else name
            try:
                figure = draw_figure(name, findings)
            except NothingToDraw as reason:
                left_out[stem] = str(reason)
                continue
            for kind in dict.fromkeys(formats):
                files.append(folder / f"{stem}.{kind}")
                write_whole(files[-1], figure_bytes(figure, kind), within=within)
    return WrittenFigures(tuple(files), left_out)


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """The figure as a file of that format; equal figures give equal bytes."""
    _refuse_unknown_format(kind)
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()


def _refuse_unknown_format(kind: str) -> None:
    if kind not in FORMATS:
        raise SettingsError(f"format: {kind!r} is unknown; choose from {', '.join(FORMATS)}")
