"""How much of a head's attention goes to [SEP] or </s>."""

from headscope.measures.measure import Measure

SPECIAL_SEPARATOR_ATTENTION = Measure(
    name="special_separator_attention",
    title="attention on [SEP]",
    unit="share of attention",
    numerator="special_separator_attention",
    in_findings="share of all attention, on special tokens that end or separate texts",
    definition=(
        "Share of the attention weights of a window that falls on special separators: special "
        "tokens that end or separate texts ([SEP], </s> and the like, the tokenizer's sep and eos "
        "tokens). One that is the first token of the window begins the text and does not count."
    ),
    misleads=(
        "Often a resting place: heads with nothing to say look there. A model without such tokens "
        "around its texts has 0."
    ),
    source="arXiv 2512.21956; Clark et al. 2019",
)
