"""The products of short texts, in bands of rows: one each where texts are very short (compiled).

Products are symmetric. A band of rows is computed from its own first column on, so that of several
bands only a little below the diagonal is computed for nothing.
"""

import math
from typing import NamedTuple

from headscope.kernels.cpu.jit.decorators import inlined, inner
from headscope.kernels.cpu.jit.layout import Floats

MOST_ROWS = 64
"""Of a band. Products of fewer rows take longer than what they save."""


class Products(NamedTuple):
    """The products of the heads of some texts.

    They lie text by text, of a text band by band, and of a band head by head. With `heads_first`,
    which is for single bands, they lie head by head, and of a head text by text.
    """

    numbers: Floats
    texts: int
    heads: int
    tokens: int
    band_rows: int  # the last band may have fewer
    heads_first: bool


def even_bands(tokens: int) -> int:
    """Rows of a band, so that all bands of a text have about as many."""
    return math.ceil(tokens / max(1, math.ceil(tokens / MOST_ROWS)))


@inlined
def band(products: Products, place: int, head: int, first_row: int) -> Floats:
    """The rows from `first_row` on of a text and head, from that column on."""
    tokens, heads = products.tokens, products.heads
    columns = tokens - first_row
    rows = min(products.band_rows, columns)
    if products.heads_first:
        begin = (head * products.texts + place) * tokens * tokens
    else:
        of_text = _numbers_before(tokens, products)
        begin = heads * (place * of_text + _numbers_before(first_row, products))
        begin += head * rows * columns
    return products.numbers[begin : begin + rows * columns].reshape(rows, columns)


@inner
def _numbers_before(row: int, products: Products) -> int:
    """How many products of a text and head lie before a row that begins a band, or behind all."""
    tokens, rows = products.tokens, products.band_rows
    bands = row // rows
    numbers = rows * (bands * tokens - rows * (bands * (bands - 1) // 2))
    left = row - bands * rows
    return numbers + left * left
