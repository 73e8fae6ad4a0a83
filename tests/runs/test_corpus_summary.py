"""The lines that say what a run was measured on."""

import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import headscope as hs
from headscope.errors import RunError
from headscope.runs.corpus_summary import (
    MOST_LABELS,
    LabelCount,
    copies_sentence,
    label_counts,
    labels_sentence,
    sample_sentence,
)
from headscope.runs.manifest import SCHEMA
from headscope.runs.records import CorpusRecord
from tools.keep_run import KEPT

RECORD = CorpusRecord(
    sources=("c",),
    columns={},
    documents=1540,
    hash="",
    windows=1000,
    window_hashes=("",),
    shard_texts=(1000,),
    texts_asked=1000,
    sample="random",
    windows_available=4213,
    documents_sampled=312,
    duplicates=12,
    duplicates_sampled=3,
)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {},
            "1,000 of 4,213 windows, drawn at random from 1,540 documents; "
            "312 documents in the sample",
        ),
        (
            {"windows_available": None},
            "1,000 windows, drawn at random from 1,540 documents; 312 documents in the sample",
        ),
        ({"sample": "first"}, "the first 1,000 windows; 312 documents in the sample"),
        ({"sample": "all", "documents_sampled": 1540}, "all 1,000 windows of 1,540 documents"),
        (
            {"sample": "all"},
            "all 1,000 windows of 1,540 documents, of which 1,228 are too short for a window",
        ),
        ({"sample": None}, "1,000 windows of 1,540 documents"),
    ],
)
def test_the_sample_is_said_in_words(changed, sentence):
    assert sample_sentence(replace(RECORD, **changed)) == sentence


def test_copies_are_said_only_where_there_are_some():
    assert copies_sentence(RECORD).startswith("12 of 1,540 documents are copies of others")
    assert "3 of them in the sample" in copies_sentence(RECORD)
    assert "of their own" not in copies_sentence(RECORD)
    assert "of its own" in copies_sentence(RECORD, keep=True)
    for none in (0, None):
        assert copies_sentence(replace(RECORD, duplicates=none)) == ""


def test_labels_are_counted_in_windows_and_documents():
    windows = pa.table(
        {
            "document": ["a", "a", "b", "c", "d", "d", "e"],
            "label": ["x", "x", "x", "y", "y", "y", None],
        }
    )
    counts = label_counts(ds.dataset(windows))
    assert counts == [LabelCount("x", 3, 2), LabelCount("y", 3, 2)]
    assert labels_sentence(counts) == "x 3 windows (2 documents), y 3 windows (2 documents)"


def test_many_labels_are_not_all_listed():
    counts = [LabelCount(f"label{number}", 1, 1) for number in range(MOST_LABELS + 5)]
    line = labels_sentence(counts)
    assert line.endswith("label19 1 window (1 document), and 5 more")
    assert labels_sentence([]) == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sample", "some"),
        ("sample", 1),
        ("windows_available", -1),
        ("documents_sampled", "9"),
        ("duplicates", 0.5),
        ("duplicates_sampled", True),
        ("surprise", 1),
    ],
)
def test_a_manifest_that_counts_wrongly_is_refused(tmp_path, field, value):
    shutil.copytree(KEPT / f"schema-{SCHEMA}", tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["corpus"][field] = value
    path.write_text(json.dumps(manifest))
    with pytest.raises(RunError, match=r"manifest\.json is damaged: corpus"):
        hs.open_run(tmp_path / "run")
