"""How often the two tokens of a pair belong to the same word form."""

from headscope.measures.measure import Measure

WORD_REPETITION = Measure(
    name="word_repetition",
    title="repeated word",
    unit="share of pairs",
    numerator="word_repetition_pairs",
    denominator="pairs",
    expected="word_repetition_expected",
    definition=(
        "Share of the high-similarity pairs whose tokens belong to words with the same spelling, "
        "ignoring case. Expected: the share among all pairs of the same window at the same "
        "distances."
    ),
    misleads="Two pieces of one occurrence of a word count, and they are always near each other.",
)
