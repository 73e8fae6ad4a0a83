"""Whether sentences stand out as blocks of the similarity matrix."""

from headscope.measures.measure import Measure

BLOCK_CONTRAST = Measure(
    name="block_contrast",
    title="sentence block contrast",
    unit="standard deviations of C",
    numerator="block_contrast",
    denominator="block_contrast_texts",
    definition=(
        "How much more similar two tokens of one sentence are than two of different sentences at "
        "the same distance, in standard deviations of C over the window; the mean over windows "
        "with at least two sentences."
    ),
    misleads="A sentence often repeats its own words: the contrast can come from repetition.",
    source="this project",
)
