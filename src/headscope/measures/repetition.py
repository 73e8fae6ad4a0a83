"""How often the two tokens of a pair are the same: as token, as word, as lemma."""

from headscope.measures.measure import Measure

REPETITION = Measure(
    name="repetition",
    title="repeated token",
    unit="share of pairs",
    numerator="repetition_pairs",
    denominator="pairs",
    expected="repetition_expected",
    in_findings="share of pairs that are one token twice",
    in_sweep=True,
    definition=(
        "Share of the high-similarity pairs that are one token of the vocabulary twice. Expected: "
        "the share among all pairs of the same text at the same distances."
    ),
    misleads=(
        "Punctuation and function words repeat most: a high rate may be theirs alone. Pieces of "
        "words count as tokens."
    ),
)

WORD_REPETITION = Measure(
    name="word_repetition",
    title="repeated word",
    unit="share of pairs",
    numerator="word_repetition_pairs",
    denominator="pairs",
    expected="word_repetition_expected",
    definition=(
        "Share of the high-similarity pairs whose tokens belong to words written the same, case "
        "aside. Expected: the share among all pairs of the same text at the same distances."
    ),
    misleads="Two pieces of one occurrence of a word count, and they are always near each other.",
)

LEMMA_REPETITION = Measure(
    name="lemma_repetition",
    title="repeated lemma",
    unit="share of pairs",
    numerator="lemma_repetition_pairs",
    denominator="lemma_pairs",
    expected="lemma_repetition_expected",
    definition=(
        "Share of the high-similarity pairs whose tokens belong to words of one lemma, over the "
        "texts that have lemmas. Expected: the share among all pairs at the same distances."
    ),
    misleads="Absent, not zero, where the corpus has no lemmas. Pieces of one word count.",
)
