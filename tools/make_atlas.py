"""Makes the atlas of models: docs/atlas.md and docs/pictures/atlas/*.png.

    python -m tools.make_atlas RUN ...

Each RUN is a finished run of another model over the same corpus, best with untrained models and a
sample (the defaults of `headscope analyze`). Runs are not committed, pictures are. The same for
your own runs, as one page: `headscope compare RUN ... --html models.html`. The first time, the page
needs a line under `nav` in mkdocs.yml.
"""

import io
import sys
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

import headscope as hs
from headscope.findings.claims import CLAIMS
from headscope.findings.roles import ROLES
from headscope.pages.report.page import WORDS
from headscope.pages.side_by_side import SIGNS, ModelColumn, model_columns

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = DOCS / "pictures" / "atlas"
INTRODUCTION = """\
# Atlas of models

Checkpoints side by side, each measured on windows of the same corpus: how six numbers change with
depth, which claims of the paper hold, which role every head has, and the heads to look at first.
The same page for your own runs:

```console
$ headscope analyze --model MODEL --corpus FILE --out runs/one      # once for each model
$ headscope compare runs/one runs/other --html models.html
```

It is made by `python -m tools.make_atlas RUN ...`; the runs are not in the repository. What roles
mean: [roles](roles.md); what the verdicts rest on: [claims](claims.md); when curves mislead:
[comparing models](compare.md#when-it-misleads).

![Six quantities over relative depth, a line for each model](pictures/atlas/curves.png)
"""
DOTS_PER_INCH = 80
COLOURS = 64
"""Enough for lines and letters, at a third of the size."""


def main(folders: Sequence[str]) -> None:
    """Write pictures and page."""
    comparison = hs.compare(folders)
    PICTURES.mkdir(parents=True, exist_ok=True)
    save(comparison.figure(), PICTURES / "curves.png")
    sections = [
        strip_text(columns := model_columns({n: r.findings for n, r in comparison.runs.items()}))
    ]
    several = {name: run for name, run in comparison.runs.items() if len(run.manifest.stacks) > 1}
    by_name = {
        f"{name} {stack}" if name in several else name: (run, stack)
        for name, run in comparison.runs.items()
        for stack in run.manifest.stacks
    }
    for column in columns:
        run, stack = by_name[column.name]
        file = f"{column.name.replace(' ', '-')}.png"
        save(run.figure("roles", stack=stack), PICTURES / file)
        sections.append(column_text(column, file))
    page = DOCS / "atlas.md"
    page.write_text("\n\n".join([INTRODUCTION.strip(), *sections]) + "\n")
    size = sum(path.stat().st_size for path in PICTURES.iterdir())
    print(f"{page}: {len(columns)} stacks, pictures of {size / 1000:.0f} kB")


def save(figure: Figure, path: Path) -> None:
    """A figure as a small picture."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH)
    Image.open(buffer).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def strip_text(columns: Sequence[ModelColumn]) -> str:
    """Which claims hold: a row per model, a sign per claim."""
    key = ", ".join(f"{sign} {WORDS[status].lower()}" for status, sign in SIGNS.items())
    titles = [f"[{claim.title}](claims.md)" for claim in CLAIMS]
    lines = [f"| | {' | '.join(titles)} |", f"| --- |{' --- |' * len(titles)}"]
    for column in columns:
        signs = {verdict.name: SIGNS[verdict.status] for verdict in column.verdicts}
        cells = [signs.get(claim.name, "") for claim in CLAIMS]
        lines.append(f"| **{column.name}** | {' | '.join(cells)} |")
    return "\n".join(["## Which claims hold", "", f"{key}.", "", *lines])


def column_text(column: ModelColumn, picture: str) -> str:
    """One model: what it is, its role map, its most striking heads."""
    counts = ", ".join(f"{ROLES[name].words} {many}" for name, many in column.role_counts.items())
    heads = [f"- **layer {h.layer}, head {h.head}**: {h.why}." for h in column.striking]
    return "\n".join(
        [
            f"## {column.name}",
            "",
            f"{column.facts}. Heads by role: {counts}.",
            "",
            f"![The role of every head of {column.name}](pictures/atlas/{picture})",
            "",
            *heads,
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
