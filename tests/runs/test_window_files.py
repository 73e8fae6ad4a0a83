import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.runs.window_files import (
    ARRAY_COLUMNS,
    WINDOW_SCHEMA,
    windows_from_table,
    windows_to_table,
)
from headscope.text.document import Document
from headscope.text.windows import iter_windows
from tests.text import tiny_tokenizers

TOKENIZER = HeadscopeTokenizer(tiny_tokenizers.byte_level())
DOCUMENTS = [
    Document("a", "The cat sat on the mat. " * 9),
    Document("b", "שלום 😀\0 “quoted”\n\nend", label="mixed"),
]
WINDOWS = list(iter_windows(DOCUMENTS, TOKENIZER, window_tokens=32, min_tokens=2))


def assert_equal(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        fields = (one.document, one.label, one.tokens, one.document_hash)
        assert fields == (other.document, other.label, other.tokens, other.document_hash)
        for name in ARRAY_COLUMNS:
            assert getattr(one, name).tolist() == getattr(other, name).tolist()
            assert getattr(one, name).dtype == getattr(other, name).dtype


def test_windows_survive_parquet_exactly(tmp_path):
    path = tmp_path / "windows.parquet"
    pq.write_table(windows_to_table(WINDOWS), path, compression="zstd", row_group_size=3)
    assert_equal(windows_from_table(pq.read_table(path)), WINDOWS)


def test_a_slice_of_the_table_is_a_slice_of_the_windows():
    assert_equal(windows_from_table(windows_to_table(WINDOWS).slice(1, 3)), WINDOWS[1:4])
    chunked = pa.concat_tables([windows_to_table(WINDOWS[:2]), windows_to_table(WINDOWS[2:])])
    assert_equal(windows_from_table(chunked), WINDOWS)


def test_files_of_older_versions_have_no_hashes():
    older = windows_to_table(WINDOWS).drop_columns(["document_hash"])
    assert {window.document_hash for window in windows_from_table(older)} == {None}


def test_files_of_older_versions_have_no_dependencies():
    older = windows_to_table(WINDOWS).drop_columns(["head_ids"])
    assert all((window.head_ids == -1).all() for window in windows_from_table(older))
    assert windows_from_table(older)[0].head_ids.shape == WINDOWS[0].head_ids.shape


def test_no_windows_make_an_empty_table():
    table = windows_to_table([])
    assert table.schema == WINDOW_SCHEMA
    assert windows_from_table(table) == []


def test_duckdb_and_pandas_read_the_file(tmp_path):
    path = tmp_path / "windows.parquet"
    pq.write_table(windows_to_table(WINDOWS), path)
    counted = duckdb.sql(f"select sum(len(token_ids)) from '{path}'").fetchall()
    assert counted[0][0] == sum(window.n_tokens for window in WINDOWS)
    frame = pd.read_parquet(path)
    assert frame["tokens"][0].tolist() == list(WINDOWS[0].tokens)
