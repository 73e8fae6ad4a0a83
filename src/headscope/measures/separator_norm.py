"""Whether a head writes much or little at . ! ?"""

from headscope.measures.measure import Measure

SEPARATOR_NORM = Measure(
    name="separator_norm",
    title="vector length at . ! ?",
    unit="relative to the window's mean",
    numerator="separator_norm",
    denominator="separator_norm_texts",
    definition=(
        "Mean length of the vectors that a head writes at separators, divided by its mean length "
        "in the window; over the windows that have separators."
    ),
    misleads=(
        "It is about what is written at a separator, not about what is read from it: attention on "
        "a token with a short value vector moves little."
    ),
    source="Kobayashi et al. 2020",
)
