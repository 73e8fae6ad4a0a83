"""How far apart the tokens are that a head binds together."""

from headscope.measures.measure import Measure

MEAN_DISTANCE = Measure(
    name="mean_distance",
    title="mean distance",
    unit="tokens",
    numerator="distance_sum",
    denominator="pairs",
    expected="distance_expected",
    form=".1f",
    in_findings="mean of j - i over the pairs (i, j), in tokens",
    expected_in_findings=False,
    in_sweep=True,
    definition=(
        "Mean of j - i over the high-similarity pairs (i, j). Expected: that mean over all pairs "
        "of the same window."
    ),
    misleads=(
        "It grows with the length of the window: pairs drawn at random among n tokens give "
        "(n + 1) / 3. Compare runs of one window length only."
    ),
)
