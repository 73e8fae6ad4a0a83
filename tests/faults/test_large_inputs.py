"""Corpora that are large in the wrong way: read in time and in bounds, or refused by line."""

import time
import tracemalloc

import pytest

from headscope.errors import CorpusError
from headscope.text.corpus import read_corpus

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


@pytest.mark.parametrize("rows", sizes(20_000, 1_000_000))
def test_a_row_with_too_many_cells_is_named_by_its_line(tmp_path, rows):
    path = tmp_path / "ragged.csv"
    with path.open("w") as file:
        file.write("text,title\n")
        file.writelines(f"text {n},x\n" for n in range(rows))
        file.write("one,two,three\n")
    with pytest.raises(CorpusError, match=f"line {rows + 2} has 3 cells"):
        sum(1 for _ in read_corpus([path]))
