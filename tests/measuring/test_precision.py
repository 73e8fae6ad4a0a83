"""Half precision says what it does to the numbers."""

import re

import pytest

import headscope as hs
from headscope.measuring import precision
from tests.compare.tiny_bert import TEXTS, tiny_bert
from tests.faults.subject import save_model

OPTIONS = {"window": 32, "nulls": 0, "permutations": 0, "report": False, "progress": False}


@pytest.fixture
def analysed(tmp_path):
    model, corpus = save_model(tmp_path / "model"), tmp_path / "corpus.txt"
    corpus.write_text("\n\n".join(TEXTS[:4]))

    def run(dtype, model=model):
        loading = {"dtype": dtype} if dtype else {}
        return hs.analyze(model, corpus, out=tmp_path / f"run-{dtype}", **OPTIONS, **loading)

    return run


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_run_in_half_precision_says_how_far_its_heads_are_from_float32(analysed, dtype):
    """The four windows of this corpus are all compared, so two runs give the same differences."""
    rounded, exact = analysed(dtype), analysed("float32")
    assert rounded.manifest.corpus.windows <= precision.COMPARED_WINDOWS
    assert exact.manifest.model.flags == ()
    (note,) = rounded.manifest.model.flags
    assert note.startswith(f"computed in {dtype}: over {rounded.manifest.corpus.windows} windows")
    for measure in ("same_sentence", "repetition"):
        difference = (rounded.heads[measure] - exact.heads[measure]).abs().max()
        said = float(re.search(rf"{measure} by up to ([\d.]+)", note)[1])
        assert said == pytest.approx(difference, abs=6e-4)


def test_where_memory_does_not_suffice_the_run_says_so(analysed, monkeypatch):
    monkeypatch.setattr(precision, "available_bytes", lambda: 1000)
    (note,) = analysed("bfloat16").manifest.model.flags
    assert re.search(r"not measured: in float32 the model needs about .* GB are free", note)


def test_a_model_without_files_is_not_compared(analysed, tmp_path):
    loaded = hs.load_model(tiny_bert().bfloat16(), tokenizer=tokenizer(tmp_path))
    (note,) = analysed(None, model=loaded).manifest.model.flags
    assert "not measured: the model was passed as an object" in note


def tokenizer(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder / "model")
