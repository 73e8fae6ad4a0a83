"""Whether the token that a head gathers around is a frequent one."""

from headscope.measures.measure import Measure

COMMON_TOKEN_RANK = Measure(
    name="common_token_rank",
    title="frequency rank of the common token",
    unit="rank in the window",
    numerator="common_rank",
    denominator="common_texts",
    form=".1f",
    definition=(
        "The rank of the common token among the tokens of its window by frequency, from 1 (no "
        "token occurs more often); tokens that occur equally often share the best rank. The mean "
        "over windows."
    ),
    misleads=(
        "Most tokens of a short window occur once and share one rank. Frequent tokens are in more "
        "pairs by chance, too: compare with the untrained model."
    ),
)
