"""How far attention and similarity agree about which tokens matter."""

from headscope.measures.measure import Measure

HIGH_ATTENTION_TOKENS = Measure(
    name="high_attention_tokens",
    title="high-attention tokens",
    unit="tokens of a text",
    numerator="high_attention_tokens",
    form=".1f",
    in_sweep=True,
    definition="Number of tokens whose scaled column mass reaches the attention threshold.",
    misleads="One token with much attention sets the scale and leaves few others above it.",
)

MASK_AGREEMENT = Measure(
    name="mask_agreement",
    title="pairs under the attention mask",
    unit="share of pairs",
    numerator="mask_pairs",
    denominator="pairs",
    expected="mask_expected",
    in_sweep=True,
    definition=(
        "Share of the high-similarity pairs with at least one high-attention token. Expected: the "
        "share among all pairs of the same text."
    ),
    misleads="With many high-attention tokens nearly every pair touches one: look at the lift.",
)
