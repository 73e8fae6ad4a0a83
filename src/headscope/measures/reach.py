"""How far a head's similarity reaches."""

from headscope.measures.measure import Measure

HALF_DISTANCE = Measure(
    name="half_distance",
    title="half distance",
    unit="tokens",
    numerator="half_distance",
    denominator="half_distance_texts",
    definition=(
        "The distance within which half of a text's positive similarity lies, all pairs counted; "
        "the mean over texts."
    ),
    misleads=(
        "Raw similarity of many heads is ruled by the mean vector: all pairs are then alike, and "
        "half lies within 0.29 of the window whatever the head does. Look at the centred variant."
    ),
)
