"""How many tokens a head's attention singles out."""

from headscope.measures.measure import Measure

HIGH_ATTENTION_TOKENS = Measure(
    name="high_attention_tokens",
    title="high-attention tokens",
    unit="tokens of a window",
    numerator="high_attention_tokens",
    form=".1f",
    in_sweep=True,
    definition=(
        "Number of tokens whose scaled column mass reaches the attention threshold, special tokens "
        "not counted unless they may form pairs. Column mass is what a token receives from all "
        "queries, s_j = sum_i A_ij. With `--column-mass counted`, the default, it is divided by "
        "the number of queries that can see the token, and scaled so that the largest among the "
        "tokens that may form pairs is 1: special tokens, and the first token of a causal model, "
        "are left out of the scale. With `--column-mass paper` s_j is scaled by the largest of all "
        "tokens, and not divided."
    ),
    misleads=(
        "One token with much attention sets the scale and leaves few others above it; with "
        "`paper` that is often [SEP], [CLS] or BOS, and no token of the text is left."
    ),
)
