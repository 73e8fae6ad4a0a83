"""Runs of every version of the format, kept for ever: each opens, or says what to do."""

import json
import shutil

import numpy as np
import pytest

import headscope as hs
from headscope.errors import MergeError, RunError
from headscope.runs.corpus_summary import sample_sentence
from headscope.runs.manifest import READABLE, SCHEMA
from tests.compare.tiny_bert import TEXTS, loaded, tiny_bert
from tools.keep_run import KEPT


def test_a_run_of_every_version_is_kept():
    kept = sorted(path.name for path in KEPT.iterdir())
    assert kept == [f"schema-{version}" for version in range(1, SCHEMA + 1)]


@pytest.mark.parametrize("version", READABLE)
def test_a_run_of_an_older_version_opens(version):
    """Its own rows are the oracle for what its results say."""
    run = hs.open_run(KEPT / f"schema-{version}")
    assert run.manifest.schema == version
    assert run.left_out == []
    rows = run.rows().to_table().to_pandas()
    summed = rows.groupby(["layer", "head"])[["distance_sum", "pairs"]].sum()
    expected = summed["distance_sum"] / summed["pairs"]
    np.testing.assert_allclose(run.heads["mean_distance"], expected)
    assert run.windows().count_rows() == len(set(rows["text"]))
    assert run.findings.window_table("encoder", ["pairs"]).windows == run.manifest.corpus.windows


@pytest.mark.parametrize("version", [1, 2])
def test_runs_from_before_sampling_was_recorded_have_documents_by_their_ids(version):
    run = hs.open_run(KEPT / f"schema-{version}")
    record = run.manifest.corpus
    assert record.sample is record.duplicates is record.documents_sampled is None
    assert not run.manifest.settings.keep_duplicates
    ids = run.windows().to_table(columns=["document"])["document"].to_pylist()
    assert run.findings.window_table("encoder", ["pairs"]).documents == len(set(ids))
    assert sample_sentence(record) == f"{len(ids)} windows of {record.documents} documents"


def test_runs_of_two_versions_can_be_merged(tmp_path):
    """Parts of one run: the second half of its shards was made by a newer headscope."""
    for name, schema, missing in (("old", 1, "00001"), ("new", 2, "00000")):
        shutil.copytree(KEPT / "schema-1", tmp_path / name)
        path = tmp_path / name / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": schema}))
        (tmp_path / name / "shards" / f"{missing}.json").unlink()
    folders = [tmp_path / "old", tmp_path / "new"]
    merged = hs.merge(folders, tmp_path / "merged", report=False)
    assert merged.manifest.schema == 2
    assert merged.rows().to_table().equals(hs.open_run(KEPT / "schema-1").rows().to_table())


def test_runs_with_other_columns_are_not_merged(tmp_path):
    """Sums of a column over some of the windows would be divided by the number of all."""
    for name, schema in (("old", 2), ("new", 3)):
        shutil.copytree(KEPT / "schema-2", tmp_path / name)
        path = tmp_path / name / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": schema}))
    with pytest.raises(MergeError, match="differ in run format: version 2 / 3"):
        hs.merge([tmp_path / "old", tmp_path / "new"], tmp_path / "merged", report=False)


@pytest.mark.parametrize("version", READABLE)
def test_pages_of_an_older_run_are_written_without_what_it_did_not_measure(version, tmp_path):
    run = hs.open_run(KEPT / f"schema-{version}")
    page = run.report(tmp_path / "report.html").path.read_text()
    assert "attention on . ! ?" in page
    titles = [panel.get_title() for panel in run.figure("separators").axes]
    measured = ["special_separator_attention", "start_attention", "common_token", "diagonal_share"]
    if version < 3:
        assert not set(measured) & set(run.heads)
        assert titles == ["on . ! ?", "on special tokens", "on the first token"]
    else:
        assert run.heads[measured].notna().all(axis=None)
        assert titles[:3] == ["on . ! ?", "on [SEP], </s>", "on [CLS], <s>, BOS"]
    assert run.stability(subset=6, splits=4).reliability["splits"].max() > 0
    assert {verdict.status for verdict in run.claims()} == {"cannot answer"}


def test_going_on_with_a_run_of_an_older_version_is_refused(tmp_path, monkeypatch):
    """Its new shards would be of another version than its manifest says."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(KEPT / "schema-1", "run")
    (tmp_path / "texts").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "texts" / f"{number}.txt").write_text(text)
    with pytest.raises(RunError, match=rf"schema: 1 / {SCHEMA}.*choose another out="):
        hs.analyze(
            loaded(tiny_bert()),
            "texts",
            out="run",
            window=16,
            min_tokens=4,
            shard_windows=8,
            nulls=0,
            minimal=True,
            report=False,
            progress=False,
        )


@pytest.mark.parametrize(
    ("schema", "advice"),
    [
        (SCHEMA + 1, "pip install --upgrade headscope"),
        (99, "open it with a newer headscope"),
        (0, "is not a manifest"),
        (-1, "is not a manifest"),
        ("1", "is not a manifest"),
        (True, "is not a manifest"),
        (1.0, "is not a manifest"),
        (None, "is not a manifest"),
    ],
)
def test_other_versions_say_what_to_do(tmp_path, schema, advice):
    shutil.copytree(KEPT / f"schema-{SCHEMA}", tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": schema}))
    with pytest.raises(RunError, match=advice):
        hs.open_run(tmp_path / "run")
