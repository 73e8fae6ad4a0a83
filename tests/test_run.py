"""A run folder as other tools read it."""

import json

import duckdb
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headscope as hs
from headscope.errors import RunError
from headscope.runs.manifest import SCHEMA
from tests.demo_texts import QUICK


def test_rows_open_in_duckdb_as_they_are(demo_run):
    shards = str(demo_run.folder / "shards" / "*.parquet")
    mean_distance = duckdb.sql(
        f"""
        select layer, head, sum(distance_sum) / sum(pairs) as mean_distance
        from '{shards}' group by layer, head order by layer, head
        """
    ).fetchnumpy()["mean_distance"]
    np.testing.assert_allclose(mean_distance, demo_run.heads["mean_distance"])


def test_rows_open_in_pandas_as_they_are(demo_run):
    rows = pd.concat(
        [pd.read_parquet(path) for path in sorted((demo_run.folder / "shards").glob("*.parquet"))]
    )
    sites = demo_run.manifest.model.sites
    assert len(rows) == 12 * sum(site.heads for site in sites)
    assert not rows.duplicated(["text", "stack", "layer", "head"]).any()
    assert rows["stack"].unique().tolist() == ["encoder"]
    assert sorted(rows["text"].unique()) == list(range(12))


def test_windows_open_in_duckdb_beside_the_rows(demo_run):
    """The focal token of a row is found among the tokens of its text."""
    windows = pd.concat(
        [
            duckdb.sql(f"select document, tokens, token_ids from '{path}'").df()
            for path in sorted((demo_run.folder / "windows").glob("*.parquet"))
        ],
        ignore_index=True,
    )
    rows = demo_run.rows().to_table().to_pandas()
    for row in rows.sample(50, random_state=0).itertuples():
        assert row.focal_token in windows.loc[row.text, "token_ids"]


def test_results_open_in_xarray_as_they_are(demo_run):
    with xr.open_dataset(demo_run.folder / "results.nc", group="encoder") as dataset:
        assert dataset.sizes["layer"] == 6
        assert dataset.sizes["head"] == 12
        assert dataset["layer"].values.tolist() == [1, 2, 3, 4, 5, 6]
        assert dataset["mean_distance"].attrs["units"] == "tokens"
        assert "misleads" in dataset["mean_distance"].attrs
        xr.testing.assert_identical(dataset.load(), demo_run.arrays)


def test_the_manifest_is_plain_json(demo_run):
    manifest = json.loads((demo_run.folder / "manifest.json").read_text())
    assert manifest["schema"] == SCHEMA
    assert manifest["model"]["name"] == "demo"
    assert manifest["corpus"]["windows"] == 12
    assert manifest["settings"]["pairs"] == "top:0.01"


def test_an_opened_run_equals_the_one_that_analyze_gave(demo_model, tmp_path):
    given = hs.analyze(demo_model, "demo", texts=2, layers=[1, 4], out=tmp_path, **QUICK)
    opened = hs.open_run(tmp_path)
    assert opened.finished
    assert opened.manifest == given.manifest
    pd.testing.assert_frame_equal(opened.heads, given.heads)
    pd.testing.assert_frame_equal(opened.layers, given.layers)


def test_tables_have_a_row_per_head_and_per_layer(demo_run):
    assert demo_run.heads.groupby("layer")["head"].apply(list).tolist() == [list(range(1, 13))] * 6
    assert demo_run.layers["layer"].tolist() == [1, 2, 3, 4, 5, 6]
    assert (demo_run.heads["texts"] == 12).all()
    assert demo_run.layers["distinct_focal_tokens"].between(1, 12).all()


def test_an_unfinished_run_says_how_to_finish_it(demo_run, tmp_path):
    demo_run.manifest.write(tmp_path)
    run = hs.open_run(tmp_path)
    assert not run.finished
    assert run.shards_done == 0
    with pytest.raises(RunError, match="not finished"):
        _ = run.heads
    with pytest.raises(RunError, match="no measured window"):
        run.rows()


def test_a_results_file_that_is_damaged_is_refused(demo_run, tmp_path):
    demo_run.manifest.write(tmp_path)
    (tmp_path / "results.nc").write_bytes(b"not a netCDF file")
    with pytest.raises(RunError, match="cannot be read"):
        _ = hs.open_run(tmp_path).arrays


def test_similarity_by_position_and_by_distance_are_sums_of_the_same_numbers(demo_run):
    # Two arrays that take different ways through kernel, shard and reduction.
    arrays = demo_run.arrays
    variant = demo_run.manifest.settings.similarity
    by_position = arrays["similarity_sum"].sel(variant=variant).to_numpy()
    diagonals = np.stack(
        [
            np.trace(by_position, offset=distance, axis1=-2, axis2=-1)
            for distance in range(by_position.shape[-1])
        ],
        axis=-1,
    )
    by_distance = arrays["similarity_by_distance"].to_numpy()
    np.testing.assert_allclose(diagonals[..., 1:], by_distance[..., 1:], rtol=1e-4, atol=1e-3)
