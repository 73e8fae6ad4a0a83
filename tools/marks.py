"""Generated parts of pages: text between a mark that names it and a mark that ends it.

<!-- generated: NAME -->
...
<!-- end -->
"""

import re

END = "<!-- end -->"


def begin(name: str) -> str:
    """The line before a generated part."""
    return f"<!-- generated: {name} -->"


def marked_names(page: str) -> list[str]:
    """The names of the generated parts of a page, in order."""
    return re.findall(r"^<!-- generated: (\S+) -->$", page, re.MULTILINE)


def content(page: str, name: str) -> str:
    """What a page has between the marks of a part.

    >>> content("# Title\\n<!-- generated: list -->\\na\\nb\\n<!-- end -->\\n", "list")
    'a\\nb'
    """
    return _split(page, name)[1].strip()


def filled(page: str, name: str, text: str) -> str:
    """The page with this text between the marks of a part.

    >>> filled("<!-- generated: list -->\\nold\\n<!-- end -->\\n", "list", "new")
    '<!-- generated: list -->\\n\\nnew\\n\\n<!-- end -->\\n'
    """
    before, _, after = _split(page, name)
    return f"{before}\n{text.strip()}\n\n{after}"


def _split(page: str, name: str) -> tuple[str, str, str]:
    """What stands before, between and after the marks of a part, marks outside."""
    before, found, rest = page.partition(begin(name) + "\n")
    text, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"the page has no lines {begin(name)} and {END}; add them")
    return before + found, text, ended + after
