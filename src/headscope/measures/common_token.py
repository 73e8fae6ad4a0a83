"""How far a head's pairs of different tokens have one token in common."""

from headscope.measures.measure import Measure

COMMON_TOKEN = Measure(
    name="common_token",
    title="pairs with the common token",
    unit="share of pairs of different tokens",
    numerator="common_pairs",
    denominator="distinct_pairs",
    expected="common_expected",
    definition=(
        "The common token of a head in a window is the one that is in the most high-similarity "
        "pairs of two different tokens, all its occurrences together; this is the share of those "
        "pairs that contain it. Expected: the share among all pairs of different tokens of the "
        "window, given how often that token occurs."
    ),
    misleads=(
        "The largest of many counts exceeds its expectation by chance, too: compare with the "
        "untrained model. A few long vectors of one token give it many pairs in raw similarity."
    ),
)
