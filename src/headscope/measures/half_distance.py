"""Within which distance half of a head's similarity lies."""

from headscope.measures.measure import Measure

HALF_DISTANCE = Measure(
    name="half_distance",
    title="half distance",
    unit="tokens",
    numerator="half_distance",
    denominator="half_distance_texts",
    definition=(
        "The distance within which half of a window's positive similarity lies, over all pairs; "
        "the mean over windows."
    ),
    misleads=(
        "The mean vector dominates the raw similarity of many heads: all pairs are then alike, and "
        "half lies within 0.29 of the window whatever the head does. Look at the centred variant."
    ),
)
