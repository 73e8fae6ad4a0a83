"""How far attention and similarity agree about which tokens matter."""

from headscope.measures.measure import Measure

MASK_AGREEMENT = Measure(
    name="mask_agreement",
    title="pairs under the attention mask",
    unit="share of pairs",
    numerator="mask_pairs",
    denominator="pairs",
    expected="mask_expected",
    in_sweep=True,
    definition=(
        "Share of the high-similarity pairs with at least one high-attention token (see "
        "high_attention_tokens for how attention is scaled). Expected: the share among all pairs "
        "of the same window."
    ),
    misleads=(
        "With many high-attention tokens nearly every pair has one: look at the difference from "
        "the expectation."
    ),
)
