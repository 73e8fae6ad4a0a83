"""How far a head's pairs gather around one token."""

from headscope.measures.measure import Measure

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
        "The focal token of a head in a window is the one that occurs most among the elements of "
        "its high-similarity pairs; this is the share of the elements that it makes up. Expected: "
        "the share of the window's tokens that it makes up."
    ),
    misleads=(
        "The largest of many counts exceeds its expectation by chance, too: compare with the "
        "untrained model. One token bound to all others reaches 0.5 at most."
    ),
)
