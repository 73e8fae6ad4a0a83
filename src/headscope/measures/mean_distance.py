"""How far apart the tokens are that a head binds together."""

from headscope.measures.measure import Measure

MEAN_DISTANCE = Measure(
    name="mean_distance",
    title="mean distance",
    unit="tokens",
    numerator="distance_sum",
    denominator="pairs",
    definition="Mean of j - i over the high-similarity pairs (i, j).",
    misleads=(
        "Pairs drawn blindly from a window of n tokens lie (n + 1) / 3 apart: 43 for 128 tokens. "
        "Compare runs of one window length only."
    ),
)
