"""What commands and the report say of the sample, its copies and its labels."""

import json
from importlib import import_module

import pytest

import headscope as hs
from tests.compare.tiny_bert import loaded, tiny_bert
from tests.sample_corpora import DOCUMENTS, all_places, places, write_copied, write_labelled


@pytest.fixture
def tiny_model(monkeypatch):
    """The command line with the tiny model."""
    model = loaded(tiny_bert())
    monkeypatch.setattr(
        import_module("headscope.models.load"), "load_model", lambda *_, **__: model
    )


OPTIONS = ("--window", 16, "--min-tokens", 4, "--nulls", 0)


def test_analyze_info_and_report_say_what_was_drawn_and_of_which_labels(
    command, tiny_model, tmp_path
):
    corpus = write_labelled(tmp_path / "corpus.jsonl")
    every_window = all_places(corpus)
    rows = {document: "ab"[int(document[1:]) % 2] for document, _ in every_window}
    outcome = command(
        *("analyze", "--corpus", corpus, "--out", tmp_path / "run", "--texts", 30, *OPTIONS),
        *("--id-column", "id", "--label-column", "genre"),
    )
    assert outcome.code == 0
    assert outcome.err == ""
    found = places(hs.open_run(tmp_path / "run"))
    documents = {document for document, _ in found}
    sentence = (
        f"30 of {len(every_window)} windows, drawn at random from {DOCUMENTS} documents; "
        f"{len(documents)} documents in the sample"
    )
    counts = {
        label: (
            sum(rows[document] == label for document, _ in found),
            sum(rows[document] == label for document in documents),
        )
        for label in "ab"
    }
    line = ", ".join(
        f"{label} {windows} windows ({of_label} documents)"
        for label, (windows, of_label) in sorted(counts.items(), key=lambda item: -item[1][0])
    )
    assert f"labels  {line}" in outcome.out
    info = command("info", tmp_path / "run").out
    assert sentence in info
    assert line in info
    assert "copies" not in info
    page = (tmp_path / "run" / "report.html").read_text()
    assert sentence in page
    assert line in page
    facts = json.loads(command("info", tmp_path / "run", "--json").out)
    assert {c["label"]: (c["windows"], c["documents"]) for c in facts["labels"]} == counts
    assert facts["sample"]["windows_available"] == len(every_window)


def test_copies_are_named_by_analyze_info_claims_and_report(command, tiny_model, tmp_path):
    corpus = write_copied(tmp_path / "corpus.jsonl", 5)
    asked = ("analyze", "--corpus", corpus, "--out", tmp_path / "run", *OPTIONS)
    sentence = "4 of 7 documents are copies of others"
    outcome = command(*asked)
    assert sentence in outcome.err
    assert "labels" not in outcome.out
    for name in ("info", "claims"):
        assert sentence in command(name, tmp_path / "run").out
    assert sentence in (tmp_path / "run" / "report.html").read_text()
    found = json.loads(command(*asked, "--json").out)
    assert found["corpus"]["duplicates"] == 4
    kept = command(*asked[:4], tmp_path / "kept", *OPTIONS, "--keep-duplicates")
    assert kept.err == ""
    assert "each counts as a document of its own" in command("info", tmp_path / "kept").out
