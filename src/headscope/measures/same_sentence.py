"""How often the two tokens of a pair lie in one sentence."""

from headscope.measures.measure import Measure

SAME_SENTENCE = Measure(
    name="same_sentence",
    title="same sentence",
    unit="share of pairs",
    numerator="same_sentence_pairs",
    denominator="pairs",
    expected="same_sentence_expected",
    in_findings="share of pairs inside one sentence",
    in_sweep=True,
    definition=(
        "Share of the high-similarity pairs whose tokens lie in one sentence. Expected: the share "
        "among all pairs of the same window at the same distances."
    ),
    misleads=(
        "Near tokens share a sentence anyway. Only the difference from the expectation shows that "
        "a head follows sentences."
    ),
)
