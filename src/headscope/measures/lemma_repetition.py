"""How often the two tokens of a pair belong to words with the same lemma."""

from headscope.measures.measure import Measure

LEMMA_REPETITION = Measure(
    name="lemma_repetition",
    title="repeated lemma",
    unit="share of pairs",
    numerator="lemma_repetition_pairs",
    denominator="lemma_pairs",
    expected="lemma_repetition_expected",
    definition=(
        "Share of the high-similarity pairs whose tokens belong to words with the same lemma, over "
        "the windows that have lemmas. Expected: the share among all pairs at the same distances."
    ),
    misleads="Absent, not zero, where the corpus has no lemmas. Pieces of one word count.",
)
