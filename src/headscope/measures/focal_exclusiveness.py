"""Whether the heads of a layer gather around different tokens."""

from headscope.measures.measure import LayerTotal, Measure

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
        "1 / the number of heads of the layer that have the same focal token in a window. Over the "
        "heads of a layer it adds up to the number of distinct focal tokens."
    ),
    misleads=(
        "Heads that choose at random differ too: an untrained model has about 10 distinct focal "
        "tokens over 12 heads. Judge it against the untrained model."
    ),
)
