"""For every claim: a truth at its bar, one that it should find, and one that speaks against it."""

from dataclasses import dataclass

from headscope.findings.claims import CLAIMS, Evidence, Finding, find
from headscope.findings.resampling.bootstrap import Interval
from tests.findings.claims.simulated import RANDOM_DISTANCE, Truth, by_third, one_head


@dataclass(frozen=True)
class Case:
    """One question of a claim, with everything else that it asks for planted."""

    claim: str
    question: str
    at_bar: Truth
    effect: float
    """The true effect at the bar."""
    planted: Truth
    against: Truth
    test: int | None = 0
    """Which of the finding's tests has the effect; None where the finding itself does."""
    untrained: bool = True
    """Whether the question is about untrained models: how much seeds vary matters."""

    @property
    def name(self) -> str:
        return f"{self.claim}: {self.question}"

    def find(self, evidence: Evidence) -> Finding:
        return find(CLAIMS[self.claim], evidence)

    def interval(self, finding: Finding) -> Interval | None:
        return finding.effect if self.test is None else finding.tests[self.test].effect


def _separators(claim: str, rate: str) -> list[Case]:
    def truth(first: float, final: float) -> Truth:
        return Truth({rate: by_third(first, first, final)}, {rate: 0.05})

    against_untrained = Case(
        claim,
        "against the untrained model",
        at_bar=truth(0.02, 0.1),
        effect=2.0,
        planted=truth(0.02, 0.13),
        against=truth(0.02, 0.07),
    )
    against_first = Case(
        claim,
        "against the first third",
        at_bar=truth(0.2, 0.2),
        effect=0.0,
        planted=truth(0.19, 0.2),
        against=truth(0.21, 0.2),
        test=1,
        untrained=False,
    )
    return [against_untrained, against_first]


def _heads(claim: str, rate: str, expected: float, least: float, of_untrained: float) -> list[Case]:
    def mean(strength: float) -> float:
        return expected + strength * (1 - expected)

    def truth(strength: float, untrained: float) -> Truth:
        return Truth(
            {rate: one_head(mean(strength), mean(0.0))},
            {rate: one_head(mean(untrained), mean(0.0))},
        )

    return [
        Case(
            claim,
            question,
            at_bar=truth(bar, untrained),
            effect=bar,
            planted=truth(bar + 0.15, untrained),
            against=truth(bar - 0.15, untrained),
            test=None,
            untrained=bar != least,
        )
        for question, bar, untrained in (
            ("against a fixed bar", least, 0.1),
            ("against untrained heads", of_untrained, of_untrained),
        )
    ]


def _sentence_end(step: float, contrast: float) -> Truth:
    """The untrained model has a small step of its own, and no contrast."""
    return Truth(
        {
            "same_sentence": by_third(0.3, 0.33, 0.33 + step),
            "contrast": by_third(0.0, 0.5, 0.5 + contrast),
        },
        {"same_sentence": by_third(0.3, 0.3, 0.31), "contrast": 0.0},
    )


def _focal(trained: float, independent: float, untrained: float) -> Truth:
    return Truth(
        {"exclusiveness": trained, "independent": independent}, {"exclusiveness": untrained}
    )


def _beyond_attention(alone: float) -> Truth:
    """Attention and the untrained model show some repetitions; sentences are attention's."""
    return Truth(
        {
            "repetition_alone": alone,
            "repetition_of_map": 0.02,
            "sentence_alone": 0.0,
            "sentence_of_map": 0.05,
        },
        {
            "repetition_alone": 0.04,
            "repetition_of_map": 0.02,
            "sentence_alone": 0.0,
            "sentence_of_map": 0.0,
        },
    )


def _range(middle: float) -> Truth:
    """The untrained model has a small step of its own."""
    far = RANDOM_DISTANCE
    return Truth(
        {"distance": by_third(far, middle, far)}, {"distance": by_third(far, 0.95 * far, far)}
    )


def _same_sentence(final: float) -> Truth:
    return Truth({"same_sentence": by_third(0.3, 0.3, final)}, {"same_sentence": 0.31})


CASES = [
    *_separators("separators", "separators"),
    *_separators("special-separators", "special_separators"),
    Case(
        "beyond-attention",
        "repetitions",
        at_bar=_beyond_attention(0.05),
        effect=0.01,
        planted=_beyond_attention(0.08),
        against=_beyond_attention(0.02),
    ),
    *_heads("repetition-heads", "repetition", 0.05, 0.25, 0.4),
    *_heads("common-token-heads", "common", 0.1, 0.5, 0.6),
    Case(
        "range",
        "beyond the untrained model",
        at_bar=_range(0.85 * RANDOM_DISTANCE),
        effect=0.1,
        planted=_range(0.75 * RANDOM_DISTANCE),
        against=_range(0.95 * RANDOM_DISTANCE),
    ),
    Case(
        "sentence-end",
        "pairs inside a sentence",
        at_bar=_sentence_end(0.02, 0.5),
        effect=0.01,
        planted=_sentence_end(0.06, 0.5),
        against=_sentence_end(-0.02, 0.5),
    ),
    Case(
        "sentence-end",
        "suppression across sentences",
        at_bar=_sentence_end(0.1, 0.0),
        effect=0.0,
        planted=_sentence_end(0.1, 0.2),
        against=_sentence_end(0.1, -0.2),
        test=1,
    ),
    Case(
        "same-sentence",
        "beyond the untrained model",
        at_bar=_same_sentence(0.33),
        effect=0.02,
        planted=_same_sentence(0.37),
        against=_same_sentence(0.29),
    ),
    Case(
        "focal-tokens",
        "against the untrained model",
        at_bar=_focal(0.8, 0.6, 0.8),
        effect=0.0,
        planted=_focal(0.85, 0.6, 0.8),
        against=_focal(0.75, 0.6, 0.8),
    ),
    Case(
        "focal-tokens",
        "against independent heads",
        at_bar=_focal(0.8, 0.8, 0.6),
        effect=0.0,
        planted=_focal(0.85, 0.8, 0.6),
        against=_focal(0.75, 0.8, 0.6),
        test=1,
        untrained=False,
    ),
]
"""In the order of the claims; each claim has at least one."""
