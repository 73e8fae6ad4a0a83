"""The options of a segmenter, given once or with each call."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, get_args

from headscope.errors import SettingsError
from headscope.segment.chunks.limits import ChunkLimits
from headscope.segment.chunks.token_counter import AnyTokenizer
from headscope.segment.sentences.decode import CutRules
from headscope.segment.sentences.mode import checked_mode
from headscope.settings import refuse_unknown_options

By = Literal["sentence", "topic"]
Format = Literal["auto", "text", "markdown"]


class CutOptions(TypedDict, total=False):
    """All options but `by`, as keywords; see `SegmentSettings` for what they mean."""

    mode: str
    threshold: float | None
    min_length: int | None
    max_length: int | None
    n_segments: int | None
    blank_lines: bool
    format: str
    exact: bool
    max_tokens: int
    min_tokens: int
    overlap: int
    tokenizer: AnyTokenizer


class SegmentOptions(CutOptions, total=False):
    """All options as keywords."""

    by: str | None


@dataclass(frozen=True, slots=True)
class SegmentSettings:
    """All options of a segmenter, with their defaults."""

    by: str | None = None
    """`sentence` or `topic`. None: sentences, but chunks are cut at topics first."""
    mode: str = "auto"
    """`auto`, `punctuated` or `unpunctuated`."""
    threshold: float | None = None
    """The probability from which a boundary is worth a cut; None: the best one, which is stored
    with the weights."""
    min_length: int | None = None
    """Shortest sentence, in characters."""
    max_length: int | None = None
    """Longest sentence, in characters."""
    n_segments: int | None = None
    """Number of segments; None: found."""
    blank_lines: bool = True
    """Whether a blank line always ends a sentence."""
    format: str = "auto"
    """`text`, `markdown`, or `auto`: Markdown if it looks like it, see `looks_like_markdown`. In
    Markdown, headings begin segments, and code, tables, quotes and list items are never cut."""
    exact: bool = False
    """Whether the model reads in its own precision. By default, on processors that multiply
    bfloat16, its linear maps are computed in that: about twice as fast, and one boundary in some
    hundreds may differ from those found on another machine or in other company."""
    max_tokens: int = 256
    """Chunks: most tokens of a chunk."""
    min_tokens: int = 0
    """Chunks: fewest tokens of a chunk, unless the whole text has fewer."""
    overlap: int = 0
    """Chunks: most tokens of the preceding text that are repeated at the start of a chunk."""
    tokenizer: AnyTokenizer = None
    """Chunks: what counts tokens; None: the tokenizer of the model. See `token_counter`."""

    def __post_init__(self) -> None:
        if self.by is not None and self.by not in get_args(By):
            raise SettingsError(f"by: {self.by!r} is not one of {', '.join(get_args(By))}")
        if self.format not in get_args(Format):
            raise SettingsError(
                f"format: {self.format!r} is not one of {', '.join(get_args(Format))}"
            )
        checked_mode(self.mode)
        if self.threshold is not None and not 0 < self.threshold < 1:
            raise SettingsError(f"threshold: {self.threshold:g} is not between 0 and 1")
        _ = self.rules, self.limits  # each refuses what it cannot keep

    @property
    def rules(self) -> CutRules:
        """The limits on sentences, in characters."""
        return CutRules(self.min_length, self.max_length, self.n_segments)

    @property
    def limits(self) -> ChunkLimits:
        """The limits on chunks, in tokens."""
        return ChunkLimits(self.max_tokens, self.min_tokens, self.overlap)

    def changed(self, function: str, options: Mapping[str, Any]) -> "SegmentSettings":
        """These settings with some options changed.

        Args:
            function: Its name, for the message about an unknown option.
            options: As keywords.
        """
        refuse_unknown_options(function, options, SegmentOptions)
        return replace(self, **options) if options else self
