"""What a figure was drawn from: the model, corpus and settings that it names."""

from dataclasses import dataclass
from pathlib import PurePath

from headscope.runs.manifest import Manifest
from headscope.settings import PairRule, SimilarityVariant

_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Source:
    """What readers of a figure need to know about its run."""

    model: str
    stack: str
    corpus: str
    windows: int
    window_tokens: int
    similarity: SimilarityVariant
    pairs: PairRule
    attention_threshold: float

    @classmethod
    def of(cls, manifest: Manifest, stack: str) -> "Source":
        """The source of the figures of one attention stack of a run."""
        settings, sources = manifest.settings, manifest.corpus.sources
        corpus = short_name(sources[0]) + (f" and {len(sources) - 1} more" if sources[1:] else "")
        return cls(
            model=short_name(manifest.model.name),
            stack=stack,
            corpus="standard input" if corpus == "-" else corpus,
            windows=manifest.corpus.windows,
            window_tokens=settings.window_tokens,
            similarity=settings.similarity,
            pairs=settings.pairs,
            attention_threshold=settings.attention_threshold,
        )

    @property
    def line(self) -> str:
        """One line that names model, stack, corpus and windows."""
        return (
            f"{self.model}, {self.stack} · {self.corpus} · {self.windows:,} "
            f"window{'s' if self.windows != 1 else ''} of up to {self.window_tokens} tokens"
        )

    @property
    def pair_rule(self) -> str:
        """The pair rule in words."""
        if self.pairs.kind == "top":
            return f"pairs: the most similar {100 * self.pairs.value:g} % of a window"
        return f"pairs: similarity at least {self.pairs.value:g} of the window's largest"


def short_name(name: str) -> str:
    """The last part of a path or hub id, cut if it is long.

    Args:
        name: Of a model or a corpus.
    """
    last = PurePath(name).name or name
    return last if len(last) <= _LONGEST_NAME else f"{last[: _LONGEST_NAME - 1]}…"
