"""How much of C is its diagonal, which says nothing of pairs."""

from headscope.measures.measure import Measure

DIAGONAL_SHARE = Measure(
    name="diagonal_share",
    title="share of the diagonal in C",
    unit="share of the sum of squares",
    numerator="diagonal_share",
    denominator="diagonal_share_texts",
    definition=(
        "The sum of squares of the diagonal of Z Z', before it is set to zero, over the sum of "
        "squares of all its entries, in the similarity variant of the run; the mean over windows. "
        "1 / n where a head writes one vector for all n tokens, 1 where the vectors of different "
        "tokens are orthogonal."
    ),
    misleads=(
        "Near 1, what tokens have in common is lost beside what each is alone: pairs are then "
        "chosen among small numbers. It falls with the length of the window."
    ),
    source="this project",
)
