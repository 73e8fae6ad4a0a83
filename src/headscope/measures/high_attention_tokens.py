"""How many tokens a head's attention singles out."""

from headscope.measures.measure import Measure

HIGH_ATTENTION_TOKENS = Measure(
    name="high_attention_tokens",
    title="high-attention tokens",
    unit="tokens of a window",
    numerator="high_attention_tokens",
    form=".1f",
    in_sweep=True,
    definition="Number of tokens whose scaled column mass reaches the attention threshold.",
    misleads="One token with much attention sets the scale and leaves few others above it.",
)
