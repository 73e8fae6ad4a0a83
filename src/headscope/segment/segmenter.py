"""The segmenter: cuts texts into sentences or topics, by what attention heads write."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

from headscope.errors import SettingsError
from headscope.models.load import ModelLike, as_loaded
from headscope.segment.chunks.limits import Chunk
from headscope.segment.chunks.token_counter import TokenCounter
from headscope.segment.cutter import Cutter, Span
from headscope.segment.options import CutOptions, SegmentOptions, SegmentSettings
from headscope.segment.reading.window_batches import text_tokenizer
from headscope.segment.sentences.boundary_scores import BoundaryScores
from headscope.segment.sentences.mode import MODES, Mode
from headscope.segment.sentences.weights import SegmenterWeights, find_weights
from headscope.segment.stream import peek, stream_chunks, stream_segments
from headscope.segment.training.fit_boundary_net import TrainingSettings
from headscope.segment.training.fit_weights import fit_weights
from headscope.text.document import Document
from headscope.text.in_memory import checked_texts

if TYPE_CHECKING:
    import pandas as pd


class Segmenter:
    """Cuts texts into sentences, topics or chunks; joined, the segments are the text again.

    Weights for the demo model come with headscope; for any other model, `Segmenter.fit` learns them
    from plain texts. Topics of punctuated texts need no weights.

    Args:
        model: `demo`, a folder, a hub id, or what `hs.load_model` returned.
        by: `sentence` or `topic` (default: sentences; chunks are cut at topics first).
        weights: Weights, or a folder written by `save` (default: those that come with headscope).
        options: The fields of `SegmentSettings`: `mode`, `threshold`, `min_length`, `max_length`,
            `n_segments`, `blank_lines`, `format`, `exact`; for chunks `max_tokens`, `min_tokens`,
            `overlap`, `tokenizer`. Every method that cuts texts takes them as well, for that call.
    """

    def __init__(
        self,
        model: ModelLike = "demo",
        by: str | None = None,
        *,
        weights: str | Path | SegmenterWeights | None = None,
        **options: Unpack[CutOptions],
    ) -> None:
        self.settings = SegmentSettings(by).changed("Segmenter", options)
        self.model = as_loaded(model)
        text_tokenizer(self.model)
        self._weights: SegmenterWeights | None = None
        if by != "topic" or weights is not None:
            self._weights = find_weights(self.model, weights)

    def __repr__(self) -> str:
        chosen = self.settings
        by = f"by {chosen.by}, " if chosen.by else ""
        return f"Segmenter({self.model.name}, {by}mode {chosen.mode or 'auto'})"

    @property
    def weights(self) -> SegmenterWeights:
        """The weights that sentences are found with.

        Raises:
            ModelError: There are none for this model.
        """
        if self._weights is None:
            self._weights = find_weights(self.model, None)
        return self._weights

    @classmethod
    def fit(
        cls,
        texts: Iterable[str | Document],
        model: ModelLike = "demo",
        *,
        layers: Sequence[int] | None = None,
        modes: Sequence[Mode] = MODES,
        settings: TrainingSettings | None = None,
        trained_on: str = "texts of the user",
    ) -> "Segmenter":
        """A segmenter with weights learned from texts, for any model.

        Plain texts need no labels: their sentences are found by rules while the punctuation is
        there, and learned with it removed. Documents with gold sentences are learned from as they
        are. All that heads write is kept while learning: 12 KB per token for eight layers of a
        base-sized model.

        Args:
            texts: Plain texts, or documents.
            model: `demo`, a folder, a hub id, or what `hs.load_model` returned.
            layers: The numbers of the layers that are read (default: the first two thirds).
            modes: The modes that are learned (default: both).
            settings: How the networks are trained.
            trained_on: The texts in words, kept with the weights.
        """
        loaded = as_loaded(model)
        documents = [
            text if isinstance(text, Document) else Document(str(number), text)
            for number, text in enumerate(texts)
        ]
        weights = fit_weights(
            loaded,
            documents,
            layers=layers,
            modes=modes,
            settings=settings or TrainingSettings(),
            trained_on=trained_on,
        )
        return cls(loaded, weights=weights)

    def save(self, folder: str | Path) -> None:
        """Write the weights into a folder, for `Segmenter(model, weights=folder)`.

        Args:
            folder: Created if it does not exist.
        """
        self.weights.save(folder)

    @overload
    def split(self, text: str, **options: Unpack[SegmentOptions]) -> list[str]: ...  # type: ignore[overload-overlap]
    @overload
    def split(self, text: Sequence[str], **options: Unpack[SegmentOptions]) -> list[list[str]]: ...
    def split(
        self, text: str | Sequence[str], **options: Unpack[SegmentOptions]
    ) -> list[str] | list[list[str]]:
        """The segments of a text, each with the white space after it.

        Args:
            text: A text, or several: then the result is a list for each.
            options: Those of the segmenter, for this call.
        """
        if isinstance(text, str):
            return [text[start:end] for start, end in self.spans(text, **options)]
        text = checked_texts(text)
        return [
            [one[start:end] for start, end in spans]
            for one, spans in zip(text, self.spans(text, **options), strict=True)
        ]

    @overload
    def spans(self, text: str, **options: Unpack[SegmentOptions]) -> list[Span]: ...  # type: ignore[overload-overlap]
    @overload
    def spans(self, text: Sequence[str], **options: Unpack[SegmentOptions]) -> list[list[Span]]: ...
    def spans(
        self, text: str | Sequence[str], **options: Unpack[SegmentOptions]
    ) -> list[Span] | list[list[Span]]:
        """The segments as character spans [start, end), which cover the text without a gap.

        Args:
            text: A text, or several: then the result is a list for each.
            options: Those of the segmenter, for this call.
        """
        cutter = self._cutter("spans", options)
        if isinstance(text, str):
            return cutter.spans([text])[0]
        return cutter.spans(checked_texts(text))

    @overload
    def chunk(self, text: str, **options: Unpack[SegmentOptions]) -> list[Chunk]: ...  # type: ignore[overload-overlap]
    @overload
    def chunk(
        self, text: Sequence[str], **options: Unpack[SegmentOptions]
    ) -> list[list[Chunk]]: ...
    def chunk(
        self, text: str | Sequence[str], **options: Unpack[SegmentOptions]
    ) -> list[Chunk] | list[list[Chunk]]:
        """Chunks of whole sentences that keep limits on tokens, cut at the best places.

        Every topic begins a chunk (unless `by="sentence"`, which does not look for topics), as far
        as `min_tokens` allows; then chunks are as full as each other. A sentence is cut only if it
        has more than `max_tokens`, or if `min_tokens` cannot be kept otherwise: between words, at
        commas if possible, and in the end inside words. No chunk has more tokens than `max_tokens`,
        counted by itself, without special tokens: leave room for those. Without `overlap`, the
        chunks joined are the text.

        Args:
            text: A text, or several: then the result is a list for each.
            options: Those of the segmenter, for this call.

        Raises:
            SettingsError: The limits cannot be kept.
        """
        cutter = self._chunker("chunk", options)
        return cutter.chunks([text])[0] if isinstance(text, str) else cutter.chunks(text)

    @overload
    def boundary_scores(self, text: str, **options: Unpack[SegmentOptions]) -> BoundaryScores: ...  # type: ignore[overload-overlap]
    @overload
    def boundary_scores(
        self, text: Sequence[str], **options: Unpack[SegmentOptions]
    ) -> list[BoundaryScores]: ...
    def boundary_scores(
        self, text: str | Sequence[str], **options: Unpack[SegmentOptions]
    ) -> BoundaryScores | list[BoundaryScores]:
        """The probability that a sentence begins, at each place where one can.

        Args:
            text: A text, or several: then the result is a list.
            options: Those of the segmenter, for this call.
        """
        cutter = self._cutter("boundary_scores", options)
        if isinstance(text, str):
            return cutter.scores([text])[0]
        return cutter.scores(checked_texts(text))

    def mode_of(self, text: str) -> Mode:
        """The mode in which a text is read: the one asked for, or what its punctuation suggests.

        Args:
            text: The text.
        """
        return self._cutter("mode_of", {}).mode_of(text)

    def confidence(self, text: str) -> float:
        """How far a text looks like what the weights were learned from, from 0 to 1.

        By its commonest words. Below 0.5, sentences are found by rules: the weights do not know
        the language. `Segmenter.fit` learns it.

        Args:
            text: The text.
        """
        return self.weights.confidence(self.model, text)

    def stream(self, pieces: Iterable[str], **options: Unpack[SegmentOptions]) -> Iterator[str]:
        """The segments of a long text that arrives in pieces, as soon as they are certain.

        Memory does not grow with the text. Joined, the segments are the text again. Topics are
        found within blocks of the text. Markdown is read as a whole.

        Args:
            pieces: The text, in pieces of any size, such as the lines of a file.
            options: Those of the segmenter, for this call.
        """
        cutter = self._cutter("stream", options)
        first, pieces = peek(pieces)
        if cutter.is_markdown(first):
            text = "".join(pieces)
            return (text[start:end] for start, end in cutter.spans([text])[0])
        plain = self._cutter("stream", {**options, "format": "text"})
        return stream_segments(plain.next_spans, pieces, by_topic=plain.settings.by == "topic")

    def stream_chunks(
        self, pieces: Iterable[str], **options: Unpack[SegmentOptions]
    ) -> Iterator[Chunk]:
        """The chunks of a long text that arrives in pieces, as soon as they are certain.

        Memory does not grow with the text; the chunks are the best ones within blocks of it.
        Markdown is read as a whole.

        Args:
            pieces: The text, in pieces of any size, such as the lines of a file.
            options: Those of the segmenter, for this call.
        """
        chunker = self._chunker("stream_chunks", options)
        first, pieces = peek(pieces)
        if chunker.is_markdown(first):
            return iter(chunker.chunks(["".join(pieces)])[0])
        plain = self._chunker("stream_chunks", {**options, "format": "text"})
        return stream_chunks(plain.next_chunks, pieces)

    def token_counter(self, **options: Unpack[SegmentOptions]) -> TokenCounter:
        """The function that counts the tokens of chunks: that of `tokenizer`, or of the model.

        Args:
            options: Those of the segmenter, for this call.
        """
        return self._cutter("token_counter", options).counter()

    def topics(self, sentences: Sequence[str], n_segments: int | None = None) -> list[int]:
        """The indices of the sentences at which a new topic begins, without the first.

        Args:
            sentences: The text, sentence by sentence.
            n_segments: Number of topics. By default it is found: cuts are made only where they
                gain more than in the same sentences in random order.
        """
        chosen = self.settings.n_segments if n_segments is None else n_segments
        return self._cutter("topics", {"n_segments": chosen}).topics(sentences)

    def explain(self, text: str) -> "pd.DataFrame":
        """How much each head and signal contributes to the sentence boundaries of a text.

        A row per boundary, layer, head and signal, with what it adds to the log odds of that
        boundary, the largest first. Signals: `output` (what the head writes around the gap),
        `contrast`, `cut`, `mass_before`, `mass_after`, and `surface` (no head). The contributions
        of a boundary and its `base` row add up to its log odds.

        Args:
            text: The text.
        """
        # Here, because it imports pandas, which cutting texts does not need.
        from headscope.segment.sentences.explain import explain_boundaries

        cutter = self._cutter("explain", {})
        scores = cutter.scores([text])[0]
        # What rules found in an unknown language is not explained by heads.
        starts = [] if scores.by_rules else cutter.sentence_starts(text, scores)
        learned = self.weights.modes[scores.mode]
        sites, exact = self.weights.sites(self.model), self.settings.exact
        return explain_boundaries(self.model, sites, learned, text, starts, exact=exact)

    def _cutter(self, function: str, options: SegmentOptions) -> Cutter:
        return Cutter(self.model, lambda: self.weights, self.settings.changed(function, options))

    def _chunker(self, function: str, options: SegmentOptions) -> Cutter:
        cutter = self._cutter(function, options)
        if cutter.settings.n_segments is not None:
            raise SettingsError(
                "n_segments: the number of chunks follows from max_tokens; leave n_segments out"
            )
        return cutter
