"""The scripts and styles of `assets/` bundled, so that a page is one file.

The modules of `assets/` import each other by name (`import { a } from "./b.js";`) and nothing else.
In the bundle each becomes a function scope that returns what it exports, so that names stay private
to their file, as in modules.
"""

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


@cache
def script_of(entry: str) -> str:
    """The script of a page: the module of that name and all that it imports, in order."""
    parts: dict[str, str] = {}
    _collect(entry, parts, ())
    return "\n".join(parts.values())


@cache
def widget_of(entry: str) -> str:
    """The ES module of a notebook widget, whose default export is that of the entry module."""
    return f"{script_of(entry)}\nexport default _{entry}.widget;\n"


@cache
def style_of(*names: str) -> str:
    """Style sheets, one after the other."""
    return "\n".join(_asset(f"{name}.css") for name in names)


def _collect(name: str, parts: dict[str, str], above: tuple[str, ...]) -> None:
    assert name not in above, f"circular imports of modules: {above} {name}"
    source = _asset(f"{name}.js")
    for _, needed in _IMPORT.findall(source):
        if needed not in parts:
            _collect(needed, parts, (*above, name))
    exported = _EXPORT.findall(source)
    body = _EXPORT.sub("", _IMPORT.sub(r"const {\1} = _\2;\n", source))
    assert not re.search(r"^(import|export)\b", body, re.MULTILINE), (
        f"{name}.js: unknown form of import or export"
    )
    parts[name] = f"const _{name} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();"


def _asset(name: str) -> str:
    return files("headscope.pages").joinpath("assets", name).read_text(encoding="utf-8")
