"""How often the two tokens of a pair are the same token."""

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
        "the share among all pairs of the same window at the same distances."
    ),
    misleads=(
        "Punctuation and function words repeat most: they alone may make up a high rate. Pieces of "
        "words count as tokens."
    ),
)
