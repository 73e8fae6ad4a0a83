"""Writes docs/measures.md from the measures themselves: python tests/measures/write_page.py"""

from pathlib import Path

from headscope.measures import MEASURES

PAGE = Path(__file__).parents[2] / "docs" / "measures.md"
HEAD = """# Measures

A measure is the sum of one column of the shards divided by the sum of another, so that there is one
formula for a head, a layer, a subset of windows or a bootstrap sample. Where nothing was counted it
is NaN, never zero. Most have an expectation, `NAME_expected`: what the number would be without the
effect. Read a measure against it, and against the untrained model (`run.untrained`).

Words: C is the context similarity matrix of a head and a window, the dot products of the vectors
that the head writes, zero on the diagonal (`raw`; `centred` and `cosine` are options).
High-similarity pairs are the pairs with the largest C, by default 1 % of the pairs of a window.
Special tokens form no pairs unless asked to.

This page is written from the code: `python tests/measures/write_page.py`.
"""


def page() -> str:
    """The page as it should be."""
    sections = [HEAD]
    for measure in MEASURES:
        formula = f"`{measure.numerator}` / `{measure.denominator}`"
        if measure.scale != 1:
            formula = f"{measure.scale:g} x {formula}"
        expected = f"`{measure.expected}`" if measure.expected else "none"
        sections.append(
            f"## {measure.name}\n\n"
            f"{measure.definition}\n\n"
            f"- formula: {formula}, in {measure.unit}\n"
            f"- expectation: {expected}\n"
            f"- misleads: {measure.misleads}\n"
            f"- source: {measure.source}\n"
        )
    return "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page())
