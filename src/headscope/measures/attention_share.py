"""Where the attention of a head goes: separators, special tokens, the first token."""

from headscope.measures.measure import Measure

SEPARATOR_ATTENTION = Measure(
    name="separator_attention",
    title="attention on . ! ?",
    unit="share of attention",
    numerator="separator_attention",
    in_findings="share of all attention",
    definition=(
        "Share of the attention weights of a text that falls on tokens made of . ! ? or their "
        "full-width forms."
    ),
    misleads=(
        "Attention on a token that writes a short vector moves little. Stops of abbreviations and "
        "numbers count as well."
    ),
)

SPECIAL_ATTENTION = Measure(
    name="special_attention",
    title="attention on special tokens",
    unit="share of attention",
    numerator="special_attention",
    definition="Share of the attention weights that falls on [CLS], [SEP], BOS and so on.",
    misleads="Often a resting place: heads with nothing to say look there.",
    source="Clark et al. 2019",
)

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
