"""How often the two tokens of a pair are the same token."""

from headscope.measures.measure import Measure

REPETITION = Measure(
    name="repetition",
    title="repetition",
    unit="share of pairs",
    numerator="repetition_pairs",
    denominator="pairs",
    expected="repetition_expected",
    definition=(
        "Share of the high-similarity pairs that are one token of the vocabulary twice. Expected: "
        "the share among all pairs of the same text at the same distances."
    ),
    misleads=(
        "Punctuation and function words repeat most: a high rate may be theirs alone. Pieces of "
        "words count as tokens."
    ),
)
