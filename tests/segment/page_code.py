"""The Python of docs/segmentation.md, section by section, so that tests run what readers copy."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/segmentation.md"


def python_of(section: str) -> list[str]:
    """The blocks of Python below a heading; those before the first heading for an empty name.

    Args:
        section: The heading.
    """
    parts = re.split(r"^## (.*)\n", PAGE.read_text(), flags=re.MULTILINE)
    named = dict(zip(["", *parts[1::2]], parts[::2], strict=True))
    return re.findall(r"^```python\n(.*?)^```", named[section], re.MULTILINE | re.DOTALL)
