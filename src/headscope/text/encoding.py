"""What a tokenizer makes of a text."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int32


@dataclass(frozen=True, eq=False, slots=True)
class Encoding:
    """The tokens of a text, without the special tokens that stand around it."""

    token_ids: Int32[np.ndarray, " token"]
    starts: Int32[np.ndarray, " token"]
    """First character of each token."""
    ends: Int32[np.ndarray, " token"]
    """The character after each token; equal to its start when it has no characters of its own."""
