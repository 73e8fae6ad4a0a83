"""The square roots of W_O W_O', by which vectors are as long as what is written of them."""

from torch import Tensor

from headscope.kernels.head_writes import write_root
from headscope.models.head_writes import FoundWrites
from headscope.models.site import AttentionSite
from headscope.system.threads import on_threads


def write_roots(writes: FoundWrites) -> dict[AttentionSite, Tensor]:
    """S with S S = W_O W_O', (head, d_head, d_head), of each layer whose W_O is known.

    Args:
        writes: What was found in a model.
    """
    with on_threads(1):  # the last bits of eigenvectors depend on their number
        return {site: write_root(found.weight) for site, found in writes.found.items()}
