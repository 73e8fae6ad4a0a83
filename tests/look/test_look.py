"""One text with every matrix: against the model's own eager code, and against runs."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.errors import CorpusError, ModelError, SettingsError
from headscope.models import LoadedModel
from headscope.text.demo import read_demo
from tests.demo_texts import PlainBert
from tests.models.families import FAMILIES, Family, build
from tests.text.tiny_tokenizers import SAMPLE, byte_level, wordpiece

TEXT = " ".join(next(iter(read_demo())).text.split()[:60])


@pytest.fixture(scope="module")
def demo_float64():
    return hs.load_model("demo", dtype="float64")


@pytest.fixture(scope="module")
def view(demo_float64):
    return hs.look(demo_float64, TEXT)


def tiny(title: str, tokenizer) -> LoadedModel:
    family = next(family for family in FAMILIES if family.title == title)
    settings = {**family.settings, "vocab_size": len(tokenizer)}
    larger = Family(title, family.config, settings, family.projection)
    return hs.load_model(build(larger, dtype="float64"), tokenizer=tokenizer)


def run_over(model, text: str, folder, **options) -> pd.DataFrame:
    """The rows of a run over one document."""
    corpus = folder / "one.jsonl"
    corpus.write_text(json.dumps({"text": text}))
    run = hs.analyze(
        model,
        corpus,
        out=folder / "run",
        nulls=0,
        min_tokens=2,
        report=False,
        progress=False,
        **options,
    )
    return run.rows().to_table().to_pandas()


def counts_of(view: hs.View) -> pd.DataFrame:
    """The columns of a run's rows, counted from the tables and arrays of a view."""
    pairs = view.pairs.assign(mask=view.pairs.get("high_attention", np.nan))
    table = pairs.groupby(["layer", "head"]).agg(
        pairs=("i", "size"),
        distance_sum=("distance", "sum"),
        same_sentence_pairs=("same_sentence", "sum"),
        repetition_pairs=("same_token", "sum"),
        mask_pairs=("mask", lambda mask: mask.sum(skipna=False)),
    )
    focal = view.focal.set_index(["layer", "head"])
    return table.assign(
        focal_token=focal["token_id"],
        focal_elements=focal["count"],
        high_attention_tokens=view.high_attention.sum(-1).ravel(),
    )


def assert_agree(rows: pd.DataFrame, view: hs.View) -> None:
    rows = rows[rows["stack"] == view.stack_name].set_index(["layer", "head"]).sort_index()
    counted = counts_of(view)
    assert len(counted) == len(rows)
    for column in counted:
        np.testing.assert_array_equal(
            counted[column].astype(float), rows[column].astype(float), err_msg=column
        )


def test_matrices_equal_the_models_own_eager_code(view, demo_float64):
    token_ids = demo_float64.tokenizer.encode(TEXT).token_ids
    around = demo_float64.tokenizer
    forward = PlainBert()(np.array([*around.prefix_ids, *token_ids, *around.suffix_ids]))
    np.testing.assert_allclose(view.head_output, forward.z, atol=1e-10)
    np.testing.assert_allclose(view.attention, forward.attention, atol=1e-10)
    raw = np.einsum("lhid,lhjd->lhij", forward.z, forward.z)
    np.einsum("lhii->lhi", raw)[:] = 0
    np.testing.assert_allclose(view.similarity, raw, atol=1e-9)


def test_other_variants_of_similarity_are_there(view):
    z = view.head_output
    cosine = np.einsum("lhid,lhjd->lhij", z, z)
    norms = np.linalg.norm(z, axis=-1)
    cosine /= norms[..., :, None] * norms[..., None, :]
    np.einsum("lhii->lhi", cosine)[:] = 0
    np.testing.assert_allclose(view.similarity_of("cosine"), cosine, atol=1e-12)
    inside = z[:, :, 1:-1]  # special tokens take no part in the mean
    centred = inside - inside.mean(axis=2, keepdims=True)
    expected = np.einsum("lhid,lhjd->lhij", centred, centred)
    np.einsum("lhii->lhi", expected)[:] = 0
    np.testing.assert_allclose(view.similarity_of("centred")[..., 1:-1, 1:-1], expected, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"similarity": "centred", "pairs": "max:0.4", "attention_threshold": 0.15},
        {"similarity": "cosine", "pairs": "top:0.05", "special_tokens": True},
        {"layers": [2, 5]},
        {"column_mass": "paper", "attention_threshold": 0.1},
    ],
    ids=["default", "centred", "cosine", "layers", "column mass of the paper"],
)
def test_a_view_agrees_with_a_run_over_the_same_text(demo_float64, tmp_path, options):
    rows = run_over(demo_float64, TEXT, tmp_path, **options)
    assert_agree(rows, hs.look(demo_float64, TEXT, **options))


def test_every_stack_of_an_encoder_decoder_agrees_with_a_run(tmp_path):
    model = tiny("BART", wordpiece())
    options = {"window": 40, "pairs": "top:0.05"}
    rows = run_over(model, SAMPLE[1], tmp_path, **options)
    view = hs.look(model, SAMPLE[1], **options)
    assert view.stacks == ("encoder", "decoder", "cross")
    assert view.stack_name == "encoder"
    for name in view.stacks:
        assert_agree(rows, view.stack(name))
    cross = view.stack("cross")
    assert cross.key_tokens == view.tokens
    assert cross.tokens[1:] == view.tokens[:-1], "the decoder reads the text shifted right"
    assert cross.tokens[0] == "[CLS]", "token 2, which this model starts with"
    assert "high_attention" not in cross.pairs
    assert "also: encoder, decoder" in repr(cross)


@pytest.mark.parametrize("title", ["BART", "GPT-2"])
def test_attention_on_separators_and_starts_is_apart_in_every_stack(title, tmp_path):
    """The first token is a start, whatever it is: of a text, and of what a decoder reads."""
    special = {"BART": "[SEP]", "GPT-2": "<|end|>"}[title]
    model = tiny(title, {"BART": wordpiece, "GPT-2": byte_level}[title]())
    text = f"{special} the cat sat {special} on the mat {special} the same words end {special}"
    rows = run_over(model, text, tmp_path, window=40).set_index(["stack", "layer", "head"])
    view = hs.look(model, text, window=40)
    for stack in view.stacks:
        part = view.stack(stack)
        start = [place for place, token in enumerate(part.key_tokens) if token == "[CLS]"]
        separators = [place for place, token in enumerate(part.key_tokens) if token == special]
        if title == "GPT-2":
            start = [separators.pop(0)]
        received = part.attention.mean(axis=2)
        assert start
        assert len(separators) > 2
        for column, places in (
            ("start_attention", start),
            ("special_separator_attention", separators),
            ("special_attention", [*start, *separators]),
        ):
            expected = received[..., places].sum(-1).ravel()
            np.testing.assert_allclose(rows.loc[stack, column], expected, rtol=1e-5)


def test_column_mass_of_the_paper_is_relative_to_all_tokens(view, demo_float64):
    paper = hs.look(demo_float64, TEXT, column_mass="paper")
    received = view.attention.sum(axis=2)
    expected = received / received.max(axis=-1, keepdims=True)
    np.testing.assert_allclose(paper.column_mass, expected, atol=1e-12)
    # [CLS] and [SEP] set the scale; they form no pairs, and so they mask none.
    assert paper.high_attention.sum() < view.high_attention.sum()
    assert not paper.high_attention[..., [0, -1]].any()


def test_a_causal_model_agrees_with_a_run(tmp_path):
    model = tiny("GPT-2", byte_level())
    rows = run_over(model, SAMPLE[2], tmp_path, window=40)
    view = hs.look(model, SAMPLE[2], window=40)
    assert_agree(rows, view)
    assert not view.high_attention[..., 0].any(), "the first token is counted apart"


def test_pairs_are_the_largest_similarities_the_most_similar_first(view):
    for (layer, head), pairs in view.pairs.groupby(["layer", "head"]):
        matrix = view.similarity[layer - 1, head - 1]
        scores = pairs["score"].to_numpy()
        np.testing.assert_array_equal(scores, matrix[pairs["i"], pairs["j"]])
        assert (np.diff(scores) <= 0).all()
        inside = np.arange(1, len(view.tokens) - 1)
        every = np.sort(matrix[np.ix_(inside, inside)][np.triu_indices(len(inside), 1)])
        np.testing.assert_array_equal(scores, every[::-1][: len(scores)])
    row = view.pairs.iloc[0]
    assert (row.token_i, row.token_j) == (view.tokens[row.i], view.tokens[row.j])
    assert row.same_sentence == (view.sentences[row.i] == view.sentences[row.j])


def test_a_view_is_made_of_numpy_arrays_of_one_shape(view):
    n = len(view.tokens)
    assert view.layers == (1, 2, 3, 4, 5, 6)
    assert view.tokens[0] == "[CLS]"
    assert view.sentences.tolist()[0] == -1
    for array, shape in (
        (view.head_output, (6, 12, n, 32)),
        (view.attention, (6, 12, n, n)),
        (view.similarity, (6, 12, n, n)),
        (view.column_mass, (6, 12, n)),
        (view.high_attention, (6, 12, n)),
    ):
        assert isinstance(array, np.ndarray)
        assert array.shape == shape
    assert "6 layers x 12 heads" in repr(view)
    assert f"{n} tokens" in repr(view)


def test_a_window_is_the_start_of_the_text(view, demo_float64):
    start = hs.look(demo_float64, TEXT, window=20)
    assert len(start.tokens) == 20
    assert start.tokens[:19] == view.tokens[:19]
    assert len(hs.look(demo_float64, TEXT, window=500).tokens) == len(view.tokens)


def test_a_model_may_be_named(demo_model):
    text = "The cat sat on the mat. The cat slept."
    pd.testing.assert_frame_equal(hs.look("demo", text).pairs, hs.look(demo_model, text).pairs)


@pytest.mark.parametrize(
    ("text", "options", "error", "says"),
    [
        ("", {}, CorpusError, "empty"),
        (" \n", {}, CorpusError, "empty"),
        ("word", {}, CorpusError, "one token"),
        ("word " * 600, {}, SettingsError, r"602 tokens.*at most 512.*window=512"),
        ("word " * 600, {"window": 600}, SettingsError, "at most 512"),
        ("two words", {"layers": [7]}, SettingsError, "layers 1 to 6, not 7"),
        ("two words", {"pairs": "best"}, SettingsError, "is not a rule"),
        ("two words", {"attention_threshold": 2.0}, SettingsError, "attention threshold"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(demo_model, text, options, error, says):
    with pytest.raises(error, match=says):
        hs.look(demo_model, text, **options)


def test_matrices_that_would_not_fit_are_refused_with_the_way_out(demo_model, monkeypatch):
    # The package's `look` is the function; the module of that name is found here.
    monkeypatch.setattr(sys.modules["headscope.look.look"], "MOST_BYTES", 1000)
    with pytest.raises(SettingsError, match="layers="):
        hs.look(demo_model, "The cat sat on the mat.")


def test_a_stack_or_model_that_is_not_there_is_refused(view):
    with pytest.raises(SettingsError, match="has encoder, not 'cross'"):
        view.stack("cross")
    with pytest.raises(ModelError):
        hs.look("./no-such-model", "two words")


def test_the_measures_of_a_text_are_those_of_a_run_over_it(demo_float64, view, tmp_path):
    corpus = tmp_path / "one.jsonl"
    corpus.write_text(json.dumps({"text": TEXT}))
    run = hs.analyze(
        demo_float64,
        corpus,
        out=tmp_path / "run",
        nulls=0,
        min_tokens=2,
        report=False,
        progress=False,
    )
    mine, theirs = view.heads, run.heads
    assert len(mine) == len(theirs) == 72
    # Attention of a view is in single precision.
    for name in ("mean_distance", "same_sentence", "repetition_expected", "separator_attention"):
        np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-6, atol=1e-8)
