"""One hostile input, and what is done with it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A hostile input. Refused (HeadscopeError) or harmless (returns); all else is a defect."""

    name: str
    attack: Callable[[], None]
