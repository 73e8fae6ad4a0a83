"""Corpora that are large in the wrong way: read in time and in bounds, or refused by line."""

import csv
import gzip
import time
import tracemalloc

import pytest

from headscope.errors import CorpusError
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.text import windows
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.readers import bombs, delimited, source_file
from tests.compare.tiny_bert import tokenizer_of_all

MB = 2**20


def sizes(short: int, long: int):
    return [short, pytest.param(long, marks=pytest.mark.long)]


@pytest.mark.parametrize("megabytes", sizes(5, 100))
@pytest.mark.parametrize("kind", [".txt", ".jsonl", ".csv"])
def test_a_very_long_line_is_one_text(tmp_path, kind, megabytes):
    path = tmp_path / f"long{kind}"
    text = "words of a text, " * (megabytes * MB // 17)
    opening, closing = {".txt": ("", ""), ".jsonl": ('{"text": "', '"}'), ".csv": ('text\n"', '"')}[
        kind
    ]
    path.write_text(f"{opening}{text}{closing}\n")
    started = time.process_time()
    (document,) = read_corpus([path])
    assert document.text.strip() == text.strip()
    assert time.process_time() - started < 10


@pytest.mark.parametrize("rows", sizes(3_000, 1_000_000))
def test_a_csv_of_many_rows_with_cells_missing_is_read_in_bounded_memory(tmp_path, rows):
    """The texts together take more than twice what may be in use at once."""
    path = tmp_path / "ragged.csv"
    words = " word" * (10 * MB // 5 // rows)
    with path.open("w") as file:
        file.write("text,title,genre\n")
        file.writelines(f"text {n}{words}{',x' * (n % 3)}\n" for n in range(rows))
    tracemalloc.start()
    count = sum(document.text.startswith("text ") for document in read_corpus([path]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == rows
    assert peak < 4 * MB


def fill(path, opening: bytes, piece: bytes, megabytes: int):
    with path.open("wb") as file:
        file.write(opening)
        for _ in range(megabytes):
            file.write(piece * (MB // len(piece)))


@pytest.mark.parametrize(
    ("ending", "opening", "piece"),
    [
        (".jsonl", b"", b"\n"),
        (".jsonl", b"", b" \r\n"),
        (".conllu", b"", b"\n"),
        (".csv", b"text\n", b"\n"),
        (".txt", b"", b"\n"),
        (".csv", b'text\n"', b"\n"),
        (".csv", b'text\n"', b"some words\n"),
        (".tsv", b'text\n"', b"\r\n"),
    ],
)
def test_blank_lines_and_open_quotes_take_little_time_for_each_megabyte(
    tmp_path, ending, opening, piece
):
    """Twice the size takes no more than some three times as long; a gigabyte, seconds."""
    path = tmp_path / f"large{ending}"
    seconds = {}
    for megabytes in (20, 40):
        fill(path, opening, piece, megabytes)
        started = time.process_time()
        with pytest.raises(CorpusError):
            sum(1 for _ in read_corpus([path]))
        seconds[megabytes] = time.process_time() - started
    assert seconds[40] < 3 * seconds[20] + 0.3
    assert seconds[40] < 4


def test_an_open_quote_is_refused_with_the_line_on_which_it_opens(tmp_path, monkeypatch):
    path = tmp_path / "open.csv"
    fill(path, b'text\ngood,\n"open\n', b"words\n", 2)
    with pytest.raises(CorpusError, match="the row that begins at line 3; check the quotes"):
        sum(1 for _ in read_corpus([path]))
    for module in (source_file, delimited):
        monkeypatch.setattr(module, "MAX_TEXT_BYTES", MB)
    with pytest.raises(CorpusError, match=r"line 3: a quoted cell .* more than 1 MiB"):
        sum(1 for _ in read_corpus([path]))


def test_quoted_cells_of_many_lines_are_read_as_the_csv_module_reads_them(tmp_path):
    path = tmp_path / "cells.csv"
    rows = [[f'{n}{sep * (n % 4)}, "said"{sep}{"x" * n}'] for n in range(300) for sep in "\n\r,"]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *rows])
    with path.open("a") as file:
        file.write("\n\n\n")
    assert [[document.text] for document in read_corpus([path])] == rows


def test_a_header_of_many_columns_costs_nothing_for_each_row(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("text," + ",".join(map(str, range(200_000))) + "\n" + "words\n" * 20_000)
    started = time.process_time()
    assert sum(1 for _ in read_corpus([path])) == 20_000
    assert time.process_time() - started < 10


@pytest.mark.parametrize("ending", [".jsonl", ".txt", ".csv"])
def test_a_gzipped_file_that_unpacks_to_any_size_is_refused(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(bombs, "HARMLESS_BYTES", 8 * MB)
    path = tmp_path / f"bomb{ending}.gz"
    path.write_bytes(gzip.compress(b"\n" * (16 * MB)))
    with pytest.raises(CorpusError, match="beyond 8 MiB, at most 200 times the size is read"):
        sum(1 for _ in read_corpus([path]))


def test_texts_too_short_for_a_window_are_not_annotated(monkeypatch):
    """Which takes ten times as long as finding that out: 10^5 of them took minutes."""
    annotated = []
    annotate = windows.annotate_tokens

    def watched(document, *arguments):
        annotated.append(document.id)
        return annotate(document, *arguments)

    monkeypatch.setattr(windows, "annotate_tokens", watched)
    texts = {"tiny": "a.", "short": "The cat sat on the mat.", "long": "The cat sat. " * 10}
    documents = [Document(name, text) for name, text in texts.items()]
    found = list(windows.iter_windows(documents, HeadscopeTokenizer(tokenizer_of_all(), 128)))
    assert annotated == [window.document for window in found] == ["long"]


@pytest.mark.parametrize("rows", sizes(20_000, 1_000_000))
def test_a_row_with_too_many_cells_is_named_by_its_line(tmp_path, rows):
    path = tmp_path / "ragged.csv"
    with path.open("w") as file:
        file.write("text,title\n")
        file.writelines(f"text {n},x\n" for n in range(rows))
        file.write("one,two,three\n")
    with pytest.raises(CorpusError, match=f"line {rows + 2} has 3 cells"):
        sum(1 for _ in read_corpus([path]))
