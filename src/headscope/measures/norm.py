"""How long the vectors are that a head writes, and whether it writes much at separators."""

from headscope.measures.measure import Measure

NORM = Measure(
    name="norm",
    title="vector length",
    unit="length of z",
    numerator="norm",
    denominator="norm_texts",
    definition="Mean length of the vectors that a head writes for the tokens of a text.",
    misleads="Lengths of different heads and models have no common scale.",
    source="Kobayashi et al. 2020",
)

SEPARATOR_NORM = Measure(
    name="separator_norm",
    title="vector length at . ! ?",
    unit="relative to the text's mean",
    numerator="separator_norm",
    denominator="separator_norm_texts",
    definition=(
        "Mean length of the vectors that a head writes at separators, over its mean length in the "
        "text; over the texts that have separators."
    ),
    misleads=(
        "It is about what is written at a separator, not about what is read from it: attention on "
        "a token that is read but carries a short value vector moves little."
    ),
    source="Kobayashi et al. 2020",
)
