"""How large chunks may be, and what a chunk is."""

from dataclasses import dataclass

from headscope.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text that keeps a limit on tokens."""

    text: str
    start: int
    end: int
    """The characters [start, end) of the whole text."""
    tokens: int
    """Number of tokens of `text`, counted by itself and without special tokens."""


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """Sizes of chunks, in tokens."""

    max_tokens: int = 256
    min_tokens: int = 0
    overlap: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise SettingsError(f"max_tokens: {self.max_tokens} is too few; give at least 1")
        for name in ("min_tokens", "overlap"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name}: {getattr(self, name)} is negative; give at least 0")
        if self.overlap >= self.max_tokens:
            raise SettingsError(
                f"overlap {self.overlap} fills chunks of {self.max_tokens} tokens; "
                "it must be smaller than max_tokens"
            )
        if self.min_tokens > self.room // 2 and self.min_tokens > 1:
            raise SettingsError(
                f"min_tokens {self.min_tokens} leaves no choice of cuts; give at most "
                f"{self.room // 2}, half of max_tokens minus overlap"
            )

    @property
    def room(self) -> int:
        """Most tokens of a chunk without what it repeats of the preceding text."""
        return self.max_tokens - self.overlap
