"""Text that shows what it holds: signs that cannot be seen, or turn a line around, are named."""

import unicodedata

_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def visible(text: str) -> str:
    """The text with controls, direction overrides and the like as ⟨U+202E⟩."""
    return "".join(
        f"⟨U+{ord(sign):04X}⟩" if unicodedata.category(sign) in _UNSEEN else sign for sign in text
    )
