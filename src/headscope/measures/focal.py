"""Whether a head gathers around one token, and whether other heads choose the same."""

from headscope.measures.measure import LayerTotal, Measure

FOCAL_CONCENTRATION = Measure(
    name="focal_concentration",
    title="focal concentration",
    unit="share of pair elements",
    numerator="focal_elements",
    denominator="pairs",
    scale=0.5,  # a pair has two elements
    maximum=0.5,  # one element of every pair
    expected="focal_expected",
    definition=(
        "The focal token of a head in a text is the one that occurs most among the elements of its "
        "high-similarity pairs; this is the share of the elements that it makes up. Expected: the "
        "share of the text's tokens that it makes up."
    ),
    misleads=(
        "The largest of many counts exceeds its expectation by chance, too: compare with the "
        "untrained model. One token bound to all others reaches 0.5 at most."
    ),
)

FOCAL_EXCLUSIVENESS = Measure(
    name="focal_exclusiveness",
    title="focal exclusiveness",
    unit="1 / heads that share it",
    numerator="focal_exclusiveness",
    denominator="focal_texts",
    in_sweep=True,
    layer_total=LayerTotal(
        name="distinct_focal_tokens",
        title="distinct focal tokens",
        form=".1f",
        meaning="how many different tokens the heads of a layer gather around in a window",
    ),
    definition=(
        "1 over the number of heads of the layer that have the same focal token in a text. Over "
        "the heads of a layer it adds up to the number of distinct focal tokens."
    ),
    misleads=(
        "Heads that choose at random differ too: an untrained model has about 10 distinct focal "
        "tokens over 12 heads. Judge it against the untrained model."
    ),
)
