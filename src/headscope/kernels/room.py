"""Large arrays that batches use one after the other, instead of each taking new memory."""

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.free_memory import array_apart


class Room:
    """Memory by name. For one thread, and one batch at a time."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def numbers(self, name: str, count: int, kind: torch.dtype) -> Float[Tensor, " number"]:
        """So many numbers, whatever was left in them; more memory is taken only for more numbers.

        Whoever asks for the same name next gets the same memory.
        """
        needed = count * kind.itemsize
        if name not in self._held or len(self._held[name]) < needed:
            # Let go first: both at once might be too much.
            self._held.pop(name, None)
            doubles = -(-needed // torch.float64.itemsize)
            self._held[name] = torch.from_numpy(array_apart((doubles,))).view(torch.uint8)
        return self._held[name][:needed].view(kind)
