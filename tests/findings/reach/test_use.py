"""Use of context by head, where one of the heads writes nothing, as after pruning."""

import numpy as np
import pytest

from headscope.findings.reach.evidence import ReachEvidence
from headscope.findings.reach.use import agreement_table, far_use

EDGES = (1, 64, 128)


def evidence_of(dead: int | None) -> ReachEvidence:
    """Five heads whose use of context and excess of similarity rise together."""
    rng = np.random.default_rng(0)
    heads = np.arange(1.0, 6.0)
    sizes = np.ones((12, 5, 2))
    changes = np.broadcast_to(heads[:, None] / 10, sizes.shape).copy()
    sums = np.zeros((12, 2, 3, 5, 2)) + heads[:, None] + rng.normal(0, 0.01, (12, 2, 3, 5, 2))
    if dead is not None:
        changes[:, dead] = sizes[:, dead] = sums[:, :, :, dead] = 0
    counts = np.ones((12, 3, 2))
    cells = {"intact/sums": sums, "intact/counts": counts, "spliced/counts": counts}
    cells |= {"spliced/sums": np.zeros_like(sums), "use/change": changes, "use/size": sizes}
    names = [("decoder", 1, head) for head in range(1, 6)]
    return ReachEvidence(names, EDGES, 128, 64, (16, 64), cells)


@pytest.mark.parametrize("dead", [None, 2])
def test_a_head_that_writes_nothing_takes_nothing_from_the_others(dead):
    evidence = evidence_of(dead)
    use = far_use(evidence)
    expected = np.arange(1, 6) / 10
    if dead is not None:
        expected[dead] = np.nan
    np.testing.assert_allclose(use, expected)
    table = agreement_table(evidence, "all", "raw")
    assert table["agreement"].tolist() == pytest.approx([1.0, 1.0, 1.0])
