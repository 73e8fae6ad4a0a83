"""The cutter: sentences, topics and chunks of texts, with one model and one set of options."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headscope.models.loaded import LoadedModel
from headscope.segment.chunks.cut_places import DOUBT, PARAGRAPH, SENTENCE, TOPIC, CutPlaces
from headscope.segment.chunks.limits import Chunk
from headscope.segment.chunks.overlap import with_overlap
from headscope.segment.chunks.pack import pack
from headscope.segment.chunks.token_counter import TokenCounter, token_counter
from headscope.segment.options import SegmentSettings
from headscope.segment.reading.window_batches import text_tokenizer
from headscope.segment.sentences.boundary_scores import BoundaryScores, score_texts
from headscope.segment.sentences.decode import CutRules, decode
from headscope.segment.sentences.mode import Mode, checked_mode, choose_mode
from headscope.segment.sentences.weights import SegmenterWeights
from headscope.segment.topics.find_topics import TopicSettings, sentence_topics
from headscope.text.sentences import split_sentences

Span = tuple[int, int]


@dataclass(frozen=True, eq=False, slots=True)
class Cutter:
    """Cuts texts with one model and one set of options."""

    model: LoadedModel
    weights: Callable[[], SegmenterWeights]
    """Asked for when they are needed: topics of punctuated texts need none."""
    settings: SegmentSettings

    def mode_of(self, text: str) -> Mode:
        """The mode in which a text is read: the one asked for, or what its punctuation suggests.

        Args:
            text: The text.
        """
        mode = checked_mode(self.settings.mode) or choose_mode(text)
        if self.settings.by == "topic" and mode == "punctuated":
            return mode  # its sentences are found by rules
        learned = self.weights().modes
        return mode if mode in learned else next(iter(learned))

    def scores(self, texts: Sequence[str]) -> list[BoundaryScores]:
        """The boundary scores of each text.

        Args:
            texts: The texts.
        """
        modes = [self.mode_of(text) for text in texts]
        blank_lines = self.settings.blank_lines
        return score_texts(self.model, self.weights(), texts, modes, blank_lines=blank_lines)

    def spans(self, texts: Sequence[str]) -> list[list[Span]]:
        """The sentences or topics of each text.

        Args:
            texts: The texts.
        """
        if self.settings.by == "topic":
            return [self.topic_spans(text) for text in texts]
        scores = self.scores(texts)
        return [self.sentence_spans(*pair) for pair in zip(texts, scores, strict=True)]

    def next_spans(self, before: str, text: str) -> list[Span]:
        """The spans of a text; the text before it is read for context only.

        Args:
            before: What precedes the text.
            text: The text.
        """
        if self.settings.by == "topic":
            return self.topic_spans(text, before)
        return self.sentence_spans(text, self.scores([before + text])[0].after(len(before)))

    def sentence_spans(self, text: str, scores: BoundaryScores) -> list[Span]:
        """The sentences of a text.

        Args:
            text: The text.
            scores: Its boundary scores.
        """
        return _spans(text, self.sentence_starts(text, scores))

    def sentence_starts(self, text: str, scores: BoundaryScores) -> list[int]:
        """The characters at which sentences begin, without the first.

        Args:
            text: The text.
            scores: Its boundary scores.
        """
        settings = self.settings
        learned = self.weights().modes[scores.mode]
        return decode(
            scores.log_odds,
            scores.characters,
            len(text),
            threshold=settings.threshold or learned.threshold,
            prior=learned.prior,
            rules=CutRules() if settings.by == "topic" else settings.rules,
            hard=scores.hard,
        )

    def topic_spans(self, text: str, before: str = "") -> list[Span]:
        """The topics of a text.

        Args:
            text: The text.
            before: What precedes it, for context only.
        """
        if self.mode_of(text) == "punctuated":
            # Rules are good enough here: a topic rarely begins at a doubtful sentence boundary.
            spans = list(split_sentences(text))
        else:
            spans = self.sentence_spans(text, self.scores([before + text])[0].after(len(before)))
        topics = self.topics([text[start:end] for start, end in spans])
        return _spans(text, [spans[index][0] for index in topics])

    def topics(self, sentences: Sequence[str]) -> list[int]:
        """The indices of the sentences at which a new topic begins, without the first.

        Args:
            sentences: The text, sentence by sentence.
        """
        return sentence_topics(self.model, sentences, TopicSettings(self.settings.n_segments))

    def counter(self) -> TokenCounter:
        """What counts the tokens of chunks."""
        if self.settings.tokenizer is not None:
            return token_counter(self.settings.tokenizer)
        own = text_tokenizer(self.model)
        return lambda text: len(own.encode(text).token_ids)

    def cut_places(self, text: str, scores: BoundaryScores, begin: int = 0) -> CutPlaces:
        """Where chunks of a text may begin: its sentences, and what a cut before each is worth.

        Args:
            text: The text.
            scores: Its boundary scores.
            begin: Topics are looked for from this character on.
        """
        starts = self.sentence_starts(text, scores)
        chance = dict(zip(scores.characters.tolist(), scores.probabilities.tolist(), strict=True))
        certain = set(scores.characters[scores.hard].tolist())
        gains = {
            start: PARAGRAPH
            if start in certain
            else SENTENCE - DOUBT * (1 - chance.get(start, 0.0))
            for start in starts
        }
        if self.settings.by != "sentence":
            later = [begin, *(start for start in starts if start > begin)]
            sentences = [text[start:end] for start, end in _pairs(later, len(text))]
            for index in self.topics(sentences):
                gains[later[index]] = TOPIC
        return CutPlaces.of(list(gains), list(gains.values()))

    def chunks(self, texts: Sequence[str]) -> list[list[Chunk]]:
        """The chunks of each text.

        Args:
            texts: The texts.
        """
        count = self.counter()
        return [
            self._packed(text, scores, count, 0)
            for text, scores in zip(texts, self.scores(texts), strict=True)
        ]

    def next_chunks(self, text: str, begin: int) -> list[Chunk]:
        """The chunks of the rest of a text, the first chunk of which is known.

        Args:
            text: The text.
            begin: Where the rest begins; what precedes it is context and overlap.
        """
        return self._packed(text, self.scores([text])[0], self.counter(), begin)

    def _packed(
        self, text: str, scores: BoundaryScores, count: TokenCounter, begin: int
    ) -> list[Chunk]:
        limits = self.settings.limits
        places = self.cut_places(text, scores, begin)
        spans = pack(text, places, limits, count, begin)
        return with_overlap(text, spans, places, limits, count)


def _spans(text: str, starts: Sequence[int]) -> list[Span]:
    return _pairs([0, *starts], len(text)) if text else []


def _pairs(starts: Sequence[int], end: int) -> list[Span]:
    return list(itertools.pairwise([*starts, end]))
