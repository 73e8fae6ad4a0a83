"""The whole path on the real demo model, against the model's own eager code and plain loops."""

from functools import cache

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import headscope as hs
from headscope.errors import RunError, SettingsError
from headscope.runs.window_files import windows_from_table
from headscope.text.windows import Window
from tests.demo_texts import QUICK, PlainBert, PlainForward, naive_text, write_uneven_corpus
from tests.naive import naive_head

WORDS = (20, 45, 31, 38)
WINDOW = 64
LAYERS = (1, 3, 6)
KEY = ["text", "stack", "layer", "head"]
CONTINUOUS = ["separator_attention", "special_attention", "first_attention"]


@pytest.fixture(scope="module")
def models(demo_model):
    """The demo model in both precisions."""
    return {"float32": demo_model, "float64": hs.load_model("demo", dtype="float64")}


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    return write_uneven_corpus(tmp_path_factory.mktemp("corpus") / "uneven.jsonl", WORDS)


@pytest.fixture(scope="module")
def first_layer_run(demo_model, uneven, tmp_path_factory):
    """Layer 1 alone, by a model that was loaded before."""
    out = tmp_path_factory.mktemp("first-layer") / "run"
    return hs.analyze(demo_model, uneven, out=out, layers=[1], **QUICK)


def rows_of(run: hs.Run) -> pd.DataFrame:
    return run.rows().to_table().to_pandas().sort_values(KEY).reset_index(drop=True)


@pytest.fixture(scope="module")
def naive_rows(uneven, demo_model, tmp_path_factory):
    """Gives every column that the plain loops know, by the variant, for every window and head."""
    out = tmp_path_factory.mktemp("windows") / "run"
    run = hs.analyze(demo_model, uneven, out=out, window=WINDOW, layers=[1], **QUICK)
    windows = windows_from_table(run.windows().to_table())
    plain_bert = PlainBert()
    forwards = [plain_bert(window.token_ids) for window in windows]
    return cache(lambda variant: naive_table(windows, forwards, variant))


def naive_table(windows: list[Window], forwards: list[PlainForward], variant: str) -> pd.DataFrame:
    rows = []
    for number, (window, forward) in enumerate(zip(windows, forwards, strict=True)):
        for layer in LAYERS:
            for head in range(forward.z.shape[1]):
                columns = naive_head(
                    forward.z[layer - 1, head],
                    forward.attention[layer - 1, head],
                    naive_text(window),
                    variant=variant,
                    rule="top:0.02",
                )
                plain = {k: v for k, v in columns.items() if isinstance(v, int | float)}
                rows.append({"text": number, "layer": layer, "head": head + 1, **plain})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("variant", ["raw", "centred", "cosine"])
def test_every_column_equals_plain_loops_over_the_models_own_eager_attention(
    models, naive_rows, uneven, tmp_path, variant
):
    run = hs.analyze(
        models["float64"],
        uneven,
        out=tmp_path / "run",
        window=WINDOW,
        layers=LAYERS,
        similarity=variant,
        pairs="top:0.02",
        **QUICK,
    )
    ours, theirs = rows_of(run), naive_rows(variant)
    shared = [column for column in theirs if column in ours]
    assert len(shared) > 15, "the oracle must know most columns"
    for column in shared:
        np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-4, err_msg=column)
    # Distinct focal tokens need all heads of a layer: counted here from the oracle's own tokens.
    distinct = theirs.groupby(["text", "layer"])["focal_token"].nunique()
    summed = ours.groupby(["text", "layer"])["focal_exclusiveness"].sum()
    np.testing.assert_allclose(summed, distinct)


def test_single_precision_differs_from_the_oracle_at_the_threshold_alone(
    models, naive_rows, uneven, tmp_path
):
    """float32 may swap the last pair taken with the next one, where the two are all but equal.

    So sums of attention agree everywhere, and columns about pairs in nearly all rows.
    """
    run = hs.analyze(
        models["float32"],
        uneven,
        out=tmp_path / "run",
        window=WINDOW,
        layers=LAYERS,
        pairs="top:0.02",
        **QUICK,
    )
    ours, theirs = rows_of(run), naive_rows("raw")
    for column in CONTINUOUS:
        np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-4, err_msg=column)
    for column in [column for column in theirs if column in ours]:
        agreeing = np.isclose(ours[column], theirs[column], rtol=1e-4)
        assert agreeing.mean() > 0.97, column


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-5)])
def test_batches_and_padding_change_no_number(models, uneven, tmp_path, dtype, tolerance):
    small, large = (
        rows_of(
            hs.analyze(
                models[dtype],
                uneven,
                out=tmp_path / str(batch_tokens),
                batch_tokens=batch_tokens,
                layers=LAYERS,
                **QUICK,
            )
        )
        for batch_tokens in (64, 4096)
    )
    # In float32 a pair at the threshold may come or go with the order of additions, so that only
    # continuous columns can be held to the tolerance there.
    columns = small.columns if dtype == "float64" else CONTINUOUS
    for column in [column for column in columns if column != "stack"]:
        np.testing.assert_allclose(
            small[column], large[column], rtol=tolerance, atol=tolerance, err_msg=column
        )


def test_layers_asked_for_equal_those_of_a_full_run(demo_model, uneven, tmp_path):
    whole = hs.analyze(demo_model, uneven, out=tmp_path / "whole", **QUICK).heads
    some = {"layers": [2, 5], **QUICK}
    part = hs.analyze(demo_model, uneven, out=tmp_path / "part", **some).heads
    expected = whole[whole["layer"].isin([2, 5])].reset_index(drop=True)
    pd.testing.assert_frame_equal(part, expected)


def test_totals_and_arrays_are_sums_over_the_rows(demo_run):
    rows = demo_run.rows().to_table().to_pandas()
    totals = rows.groupby(["layer", "head"])[["pairs", "distance_sum"]].sum()
    arrays = demo_run.arrays
    for column in totals:
        np.testing.assert_allclose(
            arrays[f"total_{column}"].to_numpy().ravel(), totals[column].to_numpy()
        )
    histogram = arrays["distance_histogram"].to_numpy()
    np.testing.assert_array_equal(histogram.sum(-1).ravel(), totals["pairs"])
    distance = np.arange(histogram.shape[-1])
    np.testing.assert_allclose((histogram * distance).sum(-1).ravel(), totals["distance_sum"])


def test_a_model_that_was_loaded_before_is_taken_as_it_is(first_layer_run, uneven, tmp_path):
    by_name = hs.analyze("demo", uneven, out=tmp_path, layers=[1], **QUICK)
    pd.testing.assert_frame_equal(by_name.heads, first_layer_run.heads)


def test_windows_left_over_from_a_killed_attempt_are_not_taken_for_the_runs_own(
    demo_model, uneven, tmp_path
):
    (tmp_path / "windows").mkdir()
    remains = tmp_path / "windows" / "00007.parquet"
    run = hs.analyze(demo_model, uneven, out=tmp_path, layers=[1], **QUICK)
    pq.write_table(run.windows().to_table(), remains)
    assert run.windows().count_rows() == len(WORDS)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"similarity": "cosine"}, "similarity"),
        ({"pairs": "top:0.05"}, "pairs"),
        ({"texts": 2}, "texts"),
        ({"window": 64}, "window_tokens"),
        ({"layers": [2]}, "layers"),
    ],
)
def test_a_folder_with_another_run_is_refused_and_the_difference_named(
    demo_model, uneven, first_layer_run, changed, named
):
    folder = first_layer_run.folder
    before = (folder / "results.nc").read_bytes()
    with pytest.raises(RunError, match=f"holds another run.*{named}"):
        hs.analyze(demo_model, uneven, out=folder, **QUICK, **{"layers": [1]} | changed)
    assert (folder / "results.nc").read_bytes() == before


def test_a_corpus_that_changed_since_is_another_run(demo_model, tmp_path):
    corpus = write_uneven_corpus(tmp_path / "corpus.jsonl", WORDS)
    asked = {"out": tmp_path / "run", "layers": [1], **QUICK}
    hs.analyze(demo_model, corpus, **asked)
    write_uneven_corpus(corpus, WORDS, first=1)
    with pytest.raises(RunError, match="corpus"):
        hs.analyze(demo_model, corpus, **asked)


def test_layers_the_model_does_not_have_are_refused(demo_model, uneven, tmp_path):
    with pytest.raises(SettingsError, match="layers 1 to 6, not 7"):
        hs.analyze(demo_model, uneven, out=tmp_path, layers=[1, 7], **QUICK)
