"""Upper triangles of symmetric matrices, added to packed ones (compiled)."""

from headscope.compiled.decorators import entry
from headscope.compiled.layout import Doubles, Floats
from headscope.compiled.plain_loops import add


@entry
def add_triangles(matrices: Floats, packed: Doubles) -> None:
    """Add the upper triangles of matrices (m n n), row after row, to `packed` (m n(n+1)/2)."""
    n = matrices.shape[1]
    for which in range(len(matrices)):
        first = 0
        for row in range(n):
            add(matrices[which, row, row:], packed[which, first : first + n - row])
            first += n - row
