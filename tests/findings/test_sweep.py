"""The sweep of a run against separate runs at each threshold, on the real demo model."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import headscope as hs
from headscope.measures.tables import column_totals
from headscope.measuring.reduce import reduce_shards
from headscope.measuring.shard import measure_windows
from headscope.runs.window_files import read_windows
from headscope.settings import SWEEP_ATTENTION, SWEEP_PAIRS
from tests.demo_texts import write_uneven_corpus

WORDS = (20, 45, 31)
ASKED = {"layers": [1, 6], "window": 48, "shard_windows": 2, "nulls": 0, "permutations": 0}
OWN = {"pairs": "top:0.03", "attention_threshold": 0.25}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_uneven_corpus(tmp_path_factory.mktemp("corpus") / "uneven.jsonl", WORDS)


@pytest.fixture(scope="module")
def swept(demo_model, corpus, tmp_path_factory):
    """At thresholds that the sweep does not have."""
    return hs.analyze(
        demo_model,
        corpus,
        out=tmp_path_factory.mktemp("swept") / "run",
        report=False,
        progress=False,
        **ASKED | OWN,
    )


def assert_totals_equal(swept: hs.Run, totals, axis: str, label) -> None:
    """Every total at that threshold, to the last bit."""
    at = swept.arrays.sel({axis: label})
    columns = [str(name) for name in at.data_vars if str(name).endswith(f"_by_{axis}")]
    assert len(columns) >= 3
    for column in columns:
        total = totals[column.removesuffix(f"_by_{axis}")]
        np.testing.assert_array_equal(at[column], total, err_msg=column)


def assert_sweep_equals(swept: hs.Run, separate: hs.Run, axis: str, threshold: str) -> None:
    """Every total and every table, to the last bit."""
    label = float(threshold) if axis == "attention_threshold" else threshold
    assert_totals_equal(swept, column_totals(separate.arrays), axis, label)
    for per, whole in (("layer", separate.layers), ("head", separate.heads)):
        table = swept.sweep(per=per)
        part = table[(table["axis"] == axis) & (table["threshold"] == threshold)]
        part = part.drop(columns=["axis", "threshold"]).dropna(axis=1).reset_index(drop=True)
        assert len(part.columns) > 4
        pd.testing.assert_frame_equal(part, whole[part.columns], check_exact=True)


@pytest.mark.parametrize(
    ("axis", "own"),
    [
        ("pair_rule", {"pairs": "top:0.02"}),
        ("pair_rule", {"pairs": "max:0.4"}),
        ("attention_threshold", {"attention_threshold": 0.4}),
    ],
)
def test_sweep_equals_a_separate_run(swept, demo_model, corpus, tmp_path, axis, own):
    separate = hs.analyze(
        demo_model, corpus, out=tmp_path, report=False, progress=False, **ASKED | OWN | own
    )
    assert_sweep_equals(swept, separate, axis, str(*own.values()))


def totals_at(swept: hs.Run, model, **own) -> dict[str, NDArray[np.float64]]:
    """The totals of the same windows in the same shards, measured again with other settings."""
    settings = replace(swept.manifest.settings, **own)
    shards, first = [], 0
    for number in range(swept.manifest.shards):
        windows = read_windows(swept.folder, swept.manifest, number)
        sites = model.sites_of(settings.layers)
        shards.append(measure_windows(model, windows, settings, sites=sites, first_window=first))
        first += len(windows)
    return column_totals(reduce_shards(swept.manifest, shards)["encoder"])


@pytest.mark.parametrize("rule", SWEEP_PAIRS, ids=str)
def test_sweep_equals_measuring_again_at_each_pair_rule(swept, demo_model, rule):
    totals = totals_at(swept, demo_model, pairs=rule)
    assert_totals_equal(swept, totals, "pair_rule", str(rule))


@pytest.mark.parametrize("threshold", SWEEP_ATTENTION)
def test_sweep_equals_measuring_again_at_each_attention_threshold(swept, demo_model, threshold):
    totals = totals_at(swept, demo_model, attention_threshold=threshold)
    assert_totals_equal(swept, totals, "attention_threshold", threshold)


def test_thresholds_move_the_numbers(swept):
    """Were they all alike, the comparisons above would say nothing."""
    table = swept.sweep()
    for axis, measure in (
        ("pair_rule", "mean_distance"),
        ("attention_threshold", "mask_agreement"),
    ):
        assert table.loc[table["axis"] == axis].groupby("layer")[measure].nunique().min() >= 5


def test_a_measure_is_absent_where_it_does_not_depend_on_the_threshold(swept):
    table = swept.sweep().set_index("axis")
    assert table.loc["attention_threshold", "mean_distance"].isna().all()
    assert table.loc["pair_rule", "high_attention_tokens"].isna().all()
    assert "separator_attention" not in table


def test_the_table_has_a_row_per_layer_or_head_and_threshold(swept):
    thresholds = len(SWEEP_PAIRS) + len(SWEEP_ATTENTION)
    assert len(swept.sweep()) == 2 * thresholds
    assert len(swept.sweep(per="head")) == 2 * 12 * thresholds
