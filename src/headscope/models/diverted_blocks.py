"""The blocks of a model, and what happens instead of running them.

A block is what holds the attention of one layer and all that comes with it: norms, feed-forward
layer, residual connections. While blocks are diverted, a function of the caller decides for each
call of a block whether it runs, and what it puts out.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite


@dataclass(frozen=True, eq=False, slots=True)
class BlockCall:
    """A block that is about to run."""

    block: nn.Module
    forward: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def run(self) -> Any:
        """What the block puts out."""
        return self.forward(*self.arguments, **self.options)

    @property
    def states(self) -> Tensor:
        """What the block reads: the states of the layer before it."""
        states: Tensor = self.arguments[0] if self.arguments else self.options["hidden_states"]
        return states


Divert = Callable[[BlockCall], Any]
"""Gives what a block is to put out."""


def blocks_in_order(model: LoadedModel) -> dict[AttentionSite, nn.Module]:
    """The block of each site: the outermost element of a list of modules that holds it.

    Sites that share a module (ALBERT), or lie in no list, have none; then no site has.

    Args:
        model: With its sites.
    """
    names = [site.name for site in model.sites]
    if len(set(names)) < len(names):
        return {}
    found: dict[AttentionSite, nn.Module] = {}
    for site in model.sites:
        parts = site.name.split(".")
        for end in range(1, len(parts)):
            if isinstance(model.model.get_submodule(".".join(parts[:end])), nn.ModuleList):
                found[site] = model.model.get_submodule(".".join(parts[: end + 1]))
                break
    return found if len(found) == len(names) else {}


_diverting: ContextVar[Divert | None] = ContextVar("headscope_diverting", default=None)
"""What decides over diverted blocks, in this context."""
_users: dict[nn.Module, int] = {}
"""How many have diverted each block, in all threads."""
_own: dict[nn.Module, Callable[..., Any]] = {}
"""What diverted blocks had as a forward of their own, not of their class."""
_changing = threading.Lock()


@contextmanager
def diverted(blocks: Sequence[nn.Module], divert: Divert) -> Iterator[None]:
    """While open, calls of these blocks in this context are decided by a function.

    Args:
        blocks: Of one model.
        divert: Is given each call, and gives what the block is to put out.
    """
    with _changing:
        for block in blocks:
            _users[block] = _users.get(block, 0) + 1
            if _users[block] == 1:
                if "forward" in vars(block):
                    _own[block] = block.forward
                block.forward = _asking_first(block, block.forward)
    token = _diverting.set(divert)
    try:
        yield
    finally:
        _diverting.reset(token)
        with _changing:
            for block in blocks:
                _users[block] -= 1
                if not _users[block]:
                    del _users[block], block.forward
                    if block in _own:
                        block.forward = _own.pop(block)


def _asking_first(block: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
    def asking(*arguments: Any, **options: Any) -> Any:
        divert = _diverting.get()
        if divert is None:
            return forward(*arguments, **options)
        return divert(BlockCall(block, forward, arguments, options))

    return asking
