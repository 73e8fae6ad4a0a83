"""How much of a head's attention goes to the first token."""

from headscope.measures.measure import Measure

FIRST_ATTENTION = Measure(
    name="first_attention",
    title="attention on the first token",
    unit="share of attention",
    numerator="first_attention",
    definition="Share of the attention weights that falls on the first token of the window.",
    misleads=(
        "Under a causal mask the first token is the one that every query can see: a uniform head "
        "gives it about (1 + ln n) / n."
    ),
    source="Clark et al. 2019",
)
