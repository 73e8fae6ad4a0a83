"""The characters around the end of a sentence, as every part of the segmenter reads them."""

SPACED_ENDS = ".!?…"
"""Marks that end a sentence when a space follows."""
FULL_WIDTH_ENDS = "。！？．｡"  # noqa: RUF001  full-width forms are meant
"""Marks that end a sentence whatever follows: no space is written behind them."""
CLOSERS = "\"'”’)]»"  # noqa: RUF001
"""What may stand between the mark and the space."""
OPENERS = frozenset("\"'“‘([«")  # noqa: RUF001
"""What may stand before the first letter of a sentence."""
