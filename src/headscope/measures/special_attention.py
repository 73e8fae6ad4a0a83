"""How much of a head's attention goes to special tokens."""

from headscope.measures.measure import Measure

SPECIAL_ATTENTION = Measure(
    name="special_attention",
    title="attention on special tokens",
    unit="share of attention",
    numerator="special_attention",
    definition=(
        "Share of the attention weights that falls on special tokens of any kind: "
        "`special_separator_attention` and `start_attention` together."
    ),
    misleads=(
        "It hides which token it is: [SEP] in the final layers of BERT-12, [CLS] in its second."
    ),
    source="Clark et al. 2019",
)
