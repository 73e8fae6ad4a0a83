"""Claim: the final layers prefer pairs inside one sentence."""

import numpy as np
from scipy.special import ndtr

from headscope.findings.claims.claim import NO_UNTRAINED, Claim, Finding, against_bar, no_answer
from headscope.findings.claims.evidence import Evidence, layer_span
from headscope.findings.resampling.resampled_run import interval_of
from headscope.measures.same_sentence import SAME_SENTENCE

LEAST = 0.02
"""The smallest preference that counts: two pairs in a hundred."""


def _judge(evidence: Evidence) -> Finding:
    # If all pairs of these windows lie in one sentence, or none do, so do a head's pairs.
    if not 0 < evidence.run.pooled_expected(SAME_SENTENCE)[0] < 1:
        return no_answer("no window has two sentences, or the corpus has no sentences")
    if not evidence.untrained:
        return NO_UNTRAINED
    final = evidence.final_layers
    trained = evidence.run.excess(SAME_SENTENCE, final)
    null = evidence.null(lambda run: run.excess(SAME_SENTENCE, final))
    effect = interval_of(trained - null)
    rate = evidence.run.pooled(SAME_SENTENCE, final)[0]
    p_value = _permutation_p(evidence, final)
    status = against_bar(effect, LEAST)
    if status == "holds" and p_value is not None and not p_value < 0.05:
        status = "undecided"
    return Finding(
        status=status,
        effect=effect,
        unit="share of pairs beyond expectation and untrained model",
        null=interval_of(null),
        p_value=p_value,
        summary=(
            f"{rate:.1%} of the pairs of {layer_span(final)} lie in one sentence, "
            f"{trained[0]:+.1%} compared with pairs at the same distances; "
            f"minus that of the untrained model: {effect}"
        ),
    )


def _permutation_p(evidence: Evidence, layers: tuple[int, ...]) -> float | None:
    """How likely at least as many same-sentence pairs are when sentences are permuted."""
    if "permutation" not in evidence.results.sizes or not evidence.results.sizes["permutation"]:
        return None
    chosen = evidence.results.sel(layer=list(layers))
    permuted = chosen["same_sentence_permuted"].sum(["layer", "head"]).to_numpy()
    observed = float(chosen["total_same_sentence_pairs"].sum())
    spread = permuted.std(ddof=1)
    return float(ndtr((permuted.mean() - observed) / spread)) if np.any(spread > 0) else None


SAME_SENTENCE_FINAL = Claim(
    name="same-sentence",
    title="final layers stay in the sentence",
    paper="Final layers prefer pairs inside one sentence.",
    definition=(
        "The share of pairs inside one sentence in the final third of the layers, minus that of "
        "all pairs of the same window at the same distances, minus that of the untrained model. "
        f"Holds above {LEAST:g}, if it also exceeds what permuted sentences give (p < 0.05)."
    ),
    null="distance-matched expectation, untrained model, permuted sentences",
    breaks="pairs cross sentence boundaries as often as their distances explain",
    figure="same-sentence",
    judge=_judge,
)
