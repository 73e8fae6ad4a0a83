"""How much of a head's attention goes to [CLS], <s> or BOS."""

from headscope.measures.measure import Measure

START_ATTENTION = Measure(
    name="start_attention",
    title="attention on [CLS], BOS",
    unit="share of attention",
    numerator="start_attention",
    definition=(
        "Share of the attention weights that falls on special tokens that are no special "
        "separators: [CLS], <s>, BOS, the start token of a decoder."
    ),
    misleads=(
        "Often a resting place, above all under a causal mask, where the first token is the one "
        "that every query can see."
    ),
    source="Clark et al. 2019",
)
