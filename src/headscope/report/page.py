"""report.html: what was measured and what was found, on one page that needs no network."""

import io
from collections.abc import Mapping

import jinja2
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from headscope.figures.layers import layers_figure
from headscope.figures.style import style
from headscope.report.findings import FINDINGS, findings_rows
from headscope.runs.manifest import Manifest


def report_page(manifest: Manifest, layers: Mapping[str, pd.DataFrame]) -> str:
    """The page as HTML; `layers` has the table of each attention stack."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("headscope.report"), autoescape=True, trim_blocks=True
    )
    stacks = [
        {
            "name": stack,
            "figure": _as_svg(layers_figure(table, _title(manifest, stack))),
            "rows": findings_rows(table),
        }
        for stack, table in layers.items()
    ]
    return environment.get_template("report.html.jinja").render(
        manifest=manifest, stacks=stacks, findings=FINDINGS
    )


def _title(manifest: Manifest, stack: str) -> str:
    name = manifest.model.name.rstrip("/").rsplit("/", 1)[-1]
    return f"{name}, {stack}, {manifest.corpus.windows:,} texts"


def _as_svg(figure: Figure) -> Markup:
    buffer = io.StringIO()
    with style():  # what SVG files look like inside is decided when they are written
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return Markup(svg[svg.index("<svg") :])
