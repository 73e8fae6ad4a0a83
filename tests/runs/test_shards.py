import numpy as np
import pyarrow as pa
import pytest

from headscope.errors import RunError
from headscope.runs.shards import Shard, ShardStore


def some_shard() -> Shard:
    rows = pa.table({"text": [0, 1], "pairs": [3.0, 4.0]})
    return Shard(rows, {"encoder/similarity_sum": np.arange(6.0).reshape(2, 3)})


def test_a_shard_comes_back_as_it_was_written(tmp_path):
    store = ShardStore(tmp_path)
    store.write(3, some_shard())
    back = store.read(3)
    assert back.rows.equals(some_shard().rows)
    np.testing.assert_array_equal(
        back.arrays["encoder/similarity_sum"], some_shard().arrays["encoder/similarity_sum"]
    )


def test_arrays_with_permuted_strides_come_back_in_order(tmp_path):
    store = ShardStore(tmp_path)
    values = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    store.write(0, Shard(some_shard().rows, {"encoder/x": values}))
    np.testing.assert_array_equal(store.read(0).arrays["encoder/x"], values)


@pytest.mark.parametrize("suffix", ["parquet", "safetensors"])
def test_a_flipped_bit_is_seen(tmp_path, suffix):
    store = ShardStore(tmp_path)
    store.write(0, some_shard())
    path = tmp_path / f"00000.{suffix}"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert not store.is_whole(0)
    with pytest.raises(RunError, match="damaged"):
        store.read(0)


@pytest.mark.parametrize("suffix", ["parquet", "safetensors", "json"])
def test_a_shard_with_a_file_missing_or_cut_is_not_whole(tmp_path, suffix):
    store = ShardStore(tmp_path)
    store.write(0, some_shard())
    path = tmp_path / f"00000.{suffix}"
    path.write_bytes(path.read_bytes()[:-5])
    assert not store.is_whole(0)
    path.unlink()
    assert not store.is_whole(0)


def test_equal_shards_have_equal_bytes(tmp_path):
    one, other = ShardStore(tmp_path / "one"), ShardStore(tmp_path / "other")
    one.write(0, some_shard())
    other.write(0, some_shard())
    assert (tmp_path / "one/00000.json").read_bytes() == (
        tmp_path / "other/00000.json"
    ).read_bytes()
