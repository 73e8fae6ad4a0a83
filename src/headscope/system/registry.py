"""Registries: the things of one kind by name, in the order in which they are shown.

Each kind of thing that headscope has several of (measures, readers, figures, claims, roles) has one
registry. Adding a thing takes one file and one line; everything that lists that kind reads the
registry. Code outside headscope can add to the same registries.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar, runtime_checkable

from headscope.errors import SettingsError


@runtime_checkable
class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """What users call it."""


Item = TypeVar("Item", bound=Named)


class Registry(Generic[Item]):
    """Things of one kind, by name.

    >>> from types import SimpleNamespace as Fruit
    >>> fruits = Registry("fruit", [Fruit(name="apple"), Fruit(name="pear")])
    >>> fruits["pear"].name, len(fruits), "plum" in fruits
    ('pear', 2, False)
    >>> fruits["plum"]
    Traceback (most recent call last):
    headscope.errors.SettingsError: fruit: 'plum' is unknown; choose one of apple, pear
    """

    def __init__(self, kind: str, items: Iterable[Item] = ()) -> None:
        """Make a registry.

        Args:
            kind: What the things are, in one word, for messages.
            items: The things that come with headscope, in order.
        """
        self.kind = kind
        self._items: dict[str, Item] = {}
        for item in items:
            self.add(item)

    def add(self, item: Item) -> Item:
        """Add a thing, and return it; a name that is taken is refused.

        Args:
            item: It comes after those already in the registry.
        """
        if item.name in self._items:
            raise SettingsError(
                f"{self.kind}: {item.name!r} is there already; choose another name, or remove it"
            )
        self._items[item.name] = item
        return item

    def remove(self, name: str) -> None:
        """Take a thing out.

        Args:
            name: Of the thing.
        """
        del self._items[self[name].name]

    @contextmanager
    def including(self, item: Item) -> Iterator[Item]:
        """While open, a thing is in the registry.

        Args:
            item: The thing.
        """
        self.add(item)
        try:
            yield item
        finally:
            self.remove(item.name)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._items)

    def __getitem__(self, name: str) -> Item:
        if name not in self._items:
            raise SettingsError(
                f"{self.kind}: {name!r} is unknown; choose one of {', '.join(self._items)}"
            )
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[Item]:
        return iter(tuple(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)
