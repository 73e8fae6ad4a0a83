"""The cutter: sentences, topics and chunks of texts, with one model and one set of options."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from headscope.models.loaded import LoadedModel
from headscope.segment.chunks.cut_places import DOUBT, PARAGRAPH, SENTENCE, TOPIC, CutPlaces
from headscope.segment.chunks.limits import Chunk
from headscope.segment.chunks.overlap import with_overlap
from headscope.segment.chunks.pack import pack
from headscope.segment.chunks.token_counter import TokenCounter, token_counter
from headscope.segment.formats.markdown import looks_like_markdown
from headscope.segment.formats.sentences import Sentences, markdown_sentences
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
        chosen = self.settings
        return score_texts(
            self.model,
            self.weights(),
            texts,
            modes,
            blank_lines=chosen.blank_lines,
            exact=chosen.exact,
        )

    def spans(self, texts: Sequence[str]) -> list[list[Span]]:
        """The sentences or topics of each text.

        Args:
            texts: The texts.
        """
        found = self.sentences(texts)
        if self.settings.by == "topic":
            starts = [self.topic_starts(*pair) for pair in zip(texts, found, strict=True)]
        else:
            starts = [sentences.starts for sentences in found]
        return [_spans(text, its) for text, its in zip(texts, starts, strict=True)]

    def next_spans(self, before: str, text: str) -> list[Span]:
        """The spans of a plain text; the text before it is read for context only.

        Args:
            before: What precedes the text.
            text: The text.
        """
        sentences = self.sentences([text], before)[0]
        topic = self.settings.by == "topic"
        return _spans(text, self.topic_starts(text, sentences) if topic else sentences.starts)

    def is_markdown(self, text: str) -> bool:
        """Whether a text is read as Markdown.

        Args:
            text: The text.
        """
        chosen = self.settings.format
        return chosen == "markdown" or (chosen == "auto" and looks_like_markdown(text))

    def sentences(self, texts: Sequence[str], before: str = "") -> list[Sentences]:
        """The sentences of each text.

        Args:
            texts: The texts.
            before: What precedes the only text, for context; it is then read as plain text.
        """
        marked = [not before and self.is_markdown(text) for text in texts]
        plain = [text for text, is_marked in zip(texts, marked, strict=True) if not is_marked]
        found = iter(self._plain_sentences(plain, before))
        return [
            markdown_sentences(text, lambda prose: self._plain_sentences([prose])[0])
            if is_marked
            else next(found)
            for text, is_marked in zip(texts, marked, strict=True)
        ]

    def _plain_sentences(self, texts: Sequence[str], before: str = "") -> list[Sentences]:
        found: dict[int, Sentences] = {}
        for number, text in enumerate(texts):
            if self.settings.by == "topic" and self.mode_of(text) == "punctuated":
                # Rules are good enough: a topic rarely begins at a doubtful sentence boundary.
                starts = [start for start, _ in list(split_sentences(text))[1:]]
                found[number] = Sentences(starts, [SENTENCE] * len(starts))
        scored = [number for number in range(len(texts)) if number not in found]
        # Without texts to score, no weights are asked for: topics may have none.
        scores = self.scores([before + texts[number] for number in scored]) if scored else []
        for number, its in zip(scored, scores, strict=True):
            found[number] = self._scored(texts[number], its.after(len(before)))
        return [found[number] for number in range(len(texts))]

    def _scored(self, text: str, scores: BoundaryScores) -> Sentences:
        """The sentences of a text with boundary scores; blank lines are better places for chunks,
        doubtful boundaries worse ones."""
        starts = self.sentence_starts(text, scores)
        chance = dict(zip(scores.characters.tolist(), scores.probabilities.tolist(), strict=True))
        certain = set(scores.characters[scores.hard].tolist())
        gains = [
            PARAGRAPH if start in certain else SENTENCE - DOUBT * (1 - chance.get(start, 0.0))
            for start in starts
        ]
        return Sentences(starts, gains)

    def sentence_starts(self, text: str, scores: BoundaryScores) -> list[int]:
        """The characters at which sentences begin, without the first.

        Args:
            text: The text.
            scores: Its boundary scores.
        """
        settings = self.settings
        learned = self.weights().modes[scores.mode]
        prior = learned.prior
        if scores.by_rules:  # lengths were learned in another language, too
            prior = replace(prior, weight=0.0)
        return decode(
            scores.log_odds,
            scores.characters,
            len(text),
            threshold=settings.threshold or learned.threshold,
            prior=prior,
            rules=CutRules() if settings.by == "topic" else settings.rules,
            hard=scores.hard,
        )

    def topic_starts(self, text: str, sentences: Sentences, begin: int = 0) -> list[int]:
        """The characters at which topics begin, without the first; headings begin one, too.

        Args:
            text: The text.
            sentences: Its sentences.
            begin: Topics are looked for from this character on.
        """
        given = self.settings.n_segments is not None
        headings = [] if given else [place for place in sentences.headings if place > begin]
        found = list(headings)
        for start, end in _pairs([begin, *headings], len(text)):
            edges = [start, *(place for place in sentences.starts if start < place < end)]
            spans = _pairs(edges, end)
            topics = self.topics([text[one:other] for one, other in spans])
            # A heading is not parted from what it is the heading of.
            found += [edges[index] for index in topics if index > 1 or start not in headings]
        return sorted(found)

    def topics(self, sentences: Sequence[str]) -> list[int]:
        """The indices of the sentences at which a new topic begins, without the first.

        Args:
            sentences: The text, sentence by sentence.
        """
        chosen = TopicSettings(self.settings.n_segments, exact=self.settings.exact)
        return sentence_topics(self.model, sentences, chosen)

    def counter(self) -> TokenCounter:
        """What counts the tokens of chunks."""
        if self.settings.tokenizer is not None:
            return token_counter(self.settings.tokenizer)
        own = text_tokenizer(self.model)
        return lambda text: len(own.encode(text).token_ids)

    def chunks(self, texts: Sequence[str]) -> list[list[Chunk]]:
        """The chunks of each text.

        Args:
            texts: The texts.
        """
        count = self.counter()
        return [
            self._packed(text, sentences, count, 0)
            for text, sentences in zip(texts, self.sentences(texts), strict=True)
        ]

    def next_chunks(self, text: str, begin: int) -> list[Chunk]:
        """The chunks of the rest of a text, the first chunk of which is known.

        Args:
            text: The text.
            begin: Where the rest begins; what precedes it is context and overlap.
        """
        return self._packed(text, self.sentences([text])[0], self.counter(), begin)

    def _packed(
        self, text: str, sentences: Sentences, count: TokenCounter, begin: int
    ) -> list[Chunk]:
        gains = dict(zip(sentences.starts, sentences.gains, strict=True))
        if self.settings.by != "sentence":
            gains |= dict.fromkeys(self.topic_starts(text, sentences, begin), TOPIC)
        places = CutPlaces.of(list(gains), list(gains.values()))
        limits = self.settings.limits
        spans = pack(text, places, limits, count, begin)
        return with_overlap(text, spans, places, limits, count)


def _spans(text: str, starts: Sequence[int]) -> list[Span]:
    return _pairs([0, *starts], len(text)) if text else []


def _pairs(starts: Sequence[int], end: int) -> list[Span]:
    return list(itertools.pairwise([*starts, end]))
