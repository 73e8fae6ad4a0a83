"""The page on the figures."""

import re
from pathlib import Path

from headscope.pages.figures import FIGURES

PAGE = Path(__file__).parents[3] / "docs" / "figures.md"


def test_every_figure_is_explained_in_order_and_says_when_it_misleads():
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert [section.partition("\n")[0] for section in sections] == [*FIGURES.names, "One text"]
    assert all("*Misleads" in section for section in sections)
