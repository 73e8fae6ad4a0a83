"""Whether a head binds its common token to the words around it."""

from headscope.measures.measure import Measure

COMMON_TOKEN_CONTEXT = Measure(
    name="common_token_context",
    title="common token with its context",
    unit="share of the common token's pairs",
    numerator="common_context_pairs",
    denominator="common_pairs",
    expected="common_context_expected",
    definition=(
        "Of the pairs of the common token with another token, the share whose other element lies "
        "within 5 tokens of any occurrence of the common token. Expected: the share of the "
        "window's other tokens that do."
    ),
    misleads=(
        "A head that binds neighbours has a high share whatever its common token is. A token that "
        "occurs everywhere has all others in its context: look at the difference from the "
        "expectation."
    ),
)
