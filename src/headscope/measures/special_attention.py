"""How much of a head's attention goes to special tokens."""

from headscope.measures.measure import Measure

SPECIAL_ATTENTION = Measure(
    name="special_attention",
    title="attention on special tokens",
    unit="share of attention",
    numerator="special_attention",
    definition="Share of the attention weights that falls on [CLS], [SEP], BOS and so on.",
    misleads="Often a resting place: heads with nothing to say look there.",
    source="Clark et al. 2019",
)
