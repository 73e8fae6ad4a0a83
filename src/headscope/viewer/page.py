"""The page of one text, as a file that needs nothing else."""

from headscope.pages.document import Page, make_page
from headscope.viewer.matrices import TextMatrices
from headscope.viewer.payload import viewer_payload


def viewer_page(text: TextMatrices) -> Page:
    """The page, with all data inside."""
    return make_page(
        "look.html.jinja",
        title=f"headscope: {text.model}",
        styles=("base", "viewer"),
        script="page_viewer",
        data=viewer_payload(text),
    )
