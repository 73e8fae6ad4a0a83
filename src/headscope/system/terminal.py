"""Text from elsewhere as a terminal may show it.

Names of models, documents and labels come with the files that hold them. Written to a terminal as
they are, control characters in them could move the cursor, recolour the screen or retitle the
window, and marks of writing direction could show a name as another one.
"""

import json
import re
from typing import Any

_UNSEEN = re.compile(
    # Control characters, marks of writing direction, line separators, halves of characters.
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str, *, keep: str = "") -> str:
    r"""The text with every character that a terminal would obey written out.

    >>> visible("BERT\x1b[2J\u202e")
    'BERT\\x1b[2J\\u202e'

    Args:
        text: From anywhere.
        keep: Characters that stay as they are: a line break, where there may be several lines.
    """
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else _written_out(found[0]), text)


def visible_json(values: Any) -> str:
    r"""JSON in one line that any terminal can show, and that means the same.

    >>> visible_json({"name": "é\x9b"})
    '{"name": "é\\u009b"}'

    Args:
        values: What `json.dumps` takes.
    """
    text = json.dumps(values, ensure_ascii=False)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
