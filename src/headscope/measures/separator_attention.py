"""How much of a head's attention goes to . ! ?"""

from headscope.measures.measure import Measure

SEPARATOR_ATTENTION = Measure(
    name="separator_attention",
    title="attention on . ! ?",
    unit="share of attention",
    numerator="separator_attention",
    in_findings="share of all attention",
    definition=(
        "Share of the attention weights of a window that falls on tokens made of . ! ? or their "
        "full-width forms."
    ),
    misleads=(
        "Attention on a token that writes a short vector moves little. Full stops of abbreviations "
        "and numbers count as well."
    ),
)
