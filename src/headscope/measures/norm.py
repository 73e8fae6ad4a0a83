"""How long the vectors are that a head writes."""

from headscope.measures.measure import Measure

NORM = Measure(
    name="norm",
    title="vector length",
    unit="length of z",
    numerator="norm",
    denominator="norm_texts",
    definition="Mean length of the vectors that a head writes for the tokens of a window.",
    misleads="Lengths of different heads and models have no common scale.",
    source="Kobayashi et al. 2020",
)
