"""Tables of a run: kilobytes that stand for gigabytes are refused before they are unpacked."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headscope.runs import parquet_files
from headscope.runs.parquet_files import read_bounded

TEXT = "x" * 50_000
TABLES = {
    "one text in every row": pa.table({"stack": [TEXT] * 40}),
    "one text in every place of a list": pa.table({"tokens": [[TEXT] * 20] * 2}),
    "one number in every row": pa.table({"text": pa.array([7] * 300_000)}),
}

# Never let go: what was allocated from it may be freed later than the test ends.
POOL = pa.proxy_memory_pool(pa.default_memory_pool())


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(parquet_files, "HARMLESS_BYTES", 1 << 20)


@pytest.mark.parametrize("name", TABLES)
def test_what_unpacks_to_far_more_than_its_file_is_refused(tmp_path, name):
    path = tmp_path / "bomb.parquet"
    pq.write_table(TABLES[name], path, compression="zstd")
    assert path.stat().st_size < 10_000
    for source in (path, path.read_bytes()):
        with (
            pq.ParquetFile(path) as file,
            pytest.raises(ValueError, match=r"would take 2,[0-9]{3},[0-9]{3} in memory"),
        ):
            read_bounded(source, file)


def test_what_is_refused_is_never_in_memory_whole(tmp_path):
    path = tmp_path / "bomb.parquet"
    pq.write_table(TABLES["one text in every row"], path, compression="zstd")
    default = pa.default_memory_pool()
    pa.set_memory_pool(POOL)
    try:
        with pq.ParquetFile(path) as file:
            with pytest.raises(ValueError, match="in memory"):
                read_bounded(path, file)
            assert POOL.max_memory() < 1_000_000
            file.read()
            assert POOL.max_memory() > 2_000_000  # this is what is measured
    finally:
        pa.set_memory_pool(default)


def test_honest_tables_are_read_as_they_are(tmp_path):
    table = pa.table(
        {
            "document": ["a", "b", None],
            "tokens": [["the", "cat", "the"], [], ["sat"]],
            "token_ids": pa.array([[1, 2, 1], [], [3]], pa.list_(pa.int32())),
            "texts": pa.array([1, 2, 3], pa.int64()),
        }
    )
    path = tmp_path / "honest.parquet"
    pq.write_table(table, path)
    with pq.ParquetFile(path) as file:
        assert read_bounded(path, file).equals(table)
        some = read_bounded(path.read_bytes(), file, ["tokens", "texts"])
    assert some.equals(table.select(["tokens", "texts"]))
