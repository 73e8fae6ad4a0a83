"""What `reach` reads and measures: its settings, with their defaults."""

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.errors import SettingsError
from headscope.findings.reach.places import repeat_distances, splice_point
from headscope.settings import MAX_NUMBER

PARTS = ("shuffled", "use", "repeats", "untrained")
"""What can be left out: `--skip`."""


def default_edges(window_tokens: int) -> tuple[int, ...]:
    """Edges of log-spaced bins of distance, two to an octave, up to the length of a window.

    >>> default_edges(32)
    (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)

    Args:
        window_tokens: The length of a window: no distance is larger.
    """
    edges, power = {1}, 2
    while power < window_tokens:
        edges |= {power, power * 3 // 2}
        power *= 2
    return (*sorted(edge for edge in edges if edge < window_tokens), window_tokens)


@dataclass(frozen=True, slots=True)
class ReachPlan:
    """Everything besides model and corpus that changes the numbers of `reach`."""

    window_tokens: int = 128
    """Length of each window, special tokens included; shorter ones are not read."""
    windows: int = 40
    """Number of windows, from as many documents as possible."""
    edges: tuple[int, ...] = ()
    """Edges of the bins of distance, from 1; log-spaced up to the window by default."""
    layers: tuple[int, ...] | None = None
    """The layers that are measured, numbered from 1; None for all."""
    skip: tuple[str, ...] = ()
    """Parts that are left out."""
    untrained: int = 1
    """Number of untrained models, which read the intact and the spliced texts."""
    seed: int = 0
    """Of everything random: which windows are drawn, which documents are paired, how sentences are
    shuffled, which phrases are planted."""

    def __post_init__(self) -> None:
        for name in ("window_tokens", "windows", "untrained", "seed"):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= MAX_NUMBER:
                raise SettingsError(f"{name.replace('_', ' ')}: {value!r} is no number from 0 on")
        if self.window_tokens < 32:
            raise SettingsError(
                f"window: {self.window_tokens} tokens are too few to be spliced; "
                "ask for at least 32"
            )
        if self.windows < 2:
            raise SettingsError(
                f"windows: {self.windows} is too few; each is spliced with another: "
                "ask for 2 or more"
            )
        if unknown := sorted(set(self.skip) - set(PARTS)):
            raise SettingsError(
                f"skip: {', '.join(unknown)} unknown; choose from {', '.join(PARTS)}"
            )
        edges = self.edges or default_edges(self.window_tokens)
        if len(edges) < 2 or edges[0] < 1 or list(edges) != sorted(set(edges)):
            raise SettingsError("distances: give two or more ascending numbers from 1 on")
        if edges[-1] > self.window_tokens:
            raise SettingsError(
                f"distances: {edges[-1]} is more than the window of {self.window_tokens} tokens; "
                "ask for a longer --window"
            )
        object.__setattr__(self, "edges", tuple(int(edge) for edge in edges))

    @property
    def point(self) -> int:
        """The place of the first token of a spliced text that is from another document."""
        return splice_point(self.window_tokens)

    def reads(self, part: str) -> bool:
        """Whether a part is measured."""
        return part not in self.skip

    @property
    def seeds(self) -> int:
        """Number of untrained models."""
        return self.untrained if self.reads("untrained") else 0

    @property
    def use_distances(self) -> tuple[int, ...]:
        """How far the middle of a text is kept, where models see both sides: 8, 32, 128, ..."""
        found, distance = [], 8
        # The kept middle takes an eighth more than the distance on each side; sinks stay, too.
        while 2 * (distance + distance // 8) + 16 <= self.window_tokens:
            found.append(distance)
            distance *= 4
        return tuple(found)

    @property
    def repeat_distances(self) -> tuple[int, ...]:
        """How far apart planted phrases are: 16, 64, 256, ... up to half a window."""
        return repeat_distances(self.window_tokens)

    @property
    def identity(self) -> dict[str, str | int | float | bool | None]:
        """What changes numbers besides the settings that every run has."""
        return {
            "windows": self.windows,
            "distances": ",".join(map(str, self.edges)),
            "skip": ",".join(sorted(self.skip)),
            "untrained": self.seeds,
        }


def edges_of(text: str | Sequence[int] | None) -> tuple[int, ...]:
    """The edges that a user gives, as numbers.

    >>> edges_of("1,8,64")
    (1, 8, 64)

    Args:
        text: Numbers separated by commas, or numbers; None for the default.
    """
    if text is None:
        return ()
    parts = text.split(",") if isinstance(text, str) else list(text)
    try:
        return tuple(int(part) for part in parts)
    except ValueError:
        raise SettingsError(
            f"distances: {text!r} is not a list of numbers, such as 1,8,64"
        ) from None
