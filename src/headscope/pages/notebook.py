"""Pages inside notebooks: Jupyter, VS Code and Colab, by way of anywidget (extra `notebook`).

They use the same assets as the files. Without anywidget a notebook shows the object as text, and
how to get the interactive view.
"""

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

from headscope.pages.bundle_assets import style_of, widget_of

MISSING = '(the interactive view needs anywidget: pip install "headscope[notebook]")'

MimeBundle = tuple[dict[str, Any], dict[str, Any]]
"""What IPython takes from `_repr_mimebundle_`: data by MIME type, and metadata."""


def notebook_bundle(text: str, entry: str, data: Callable[[], object]) -> MimeBundle:
    """What a notebook shows of an object: the widget of an entry module, or else text."""
    if importlib.util.find_spec("anywidget") is None:
        return {"text/plain": f"{text}\n{MISSING}"}, {}
    widget = _widget_class(entry)(data=data())
    shown, metadata = widget._repr_mimebundle_() or ({}, {})
    return {**shown, "text/plain": text}, metadata


@cache
def _widget_class(entry: str) -> Any:
    import anywidget
    import traitlets

    return type(
        f"Headscope_{entry}",
        (anywidget.AnyWidget,),
        {
            "_esm": widget_of(entry),
            "_css": style_of("base", "viewer"),
            "data": traitlets.Any().tag(sync=True),
        },
    )
