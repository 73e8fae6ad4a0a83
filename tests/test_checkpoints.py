"""Real checkpoints of six kinds analyse a real corpus as they come, without a flag."""

import pytest

import headscope as hs

SHAPES = {
    "minilm": {"encoder": (6, 12)},
    "bert12": {"encoder": (12, 12)},
    "distilbert": {"encoder": (6, 12)},
    "mpnet": {"encoder": (12, 12)},
    "smollm2": {"decoder": (30, 9)},
    "opusmt": {"encoder": (6, 8), "decoder": (6, 8), "cross": (6, 8)},
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_real_checkpoint_analyses_a_treebank(name, checkpoint, corpora, tmp_path):
    run = hs.analyze(
        checkpoint(name),
        corpora / "ewt-dev.conllu.gz",
        texts=3,
        nulls=0,
        out=tmp_path / "run",
        report=False,
        progress=False,
    )
    for stack, (layers, heads) in SHAPES[name].items():
        table = run.heads[run.heads["stack"] == stack]
        assert len(table) == layers * heads
        assert (table["texts"] == 3).all()
        assert table["mean_distance"].between(1, 127).all()
        assert table["lemma_repetition"].notna().all()
        assert table["separator_attention"].between(0, 1).all()
    residuals = [value for value in run.manifest.model.residuals.values() if value is not None]
    assert max(residuals) < 1e-4
