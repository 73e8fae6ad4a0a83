"""The laws of the reduction: identity, commutative, associative, streaming equals one-shot."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from headscope.measuring.reduce import reduce_shards
from headscope.runs.manifest import CorpusRecord, Manifest, ModelRecord, SiteRecord
from headscope.runs.shards import Shard
from headscope.settings import Settings

HEADS = {("encoder", 1): 3, ("encoder", 4): 3, ("cross", 1): 2}


@pytest.fixture
def manifest() -> Manifest:
    sites = tuple(
        SiteRecord(stack, layer, f"{stack}.{layer}", heads, 8, False, "interface")
        for (stack, layer), heads in HEADS.items()
    )
    return Manifest(
        model=ModelRecord("m", "M", None, "w", "t", "float32", "cpu", 1, sites, {}, ()),
        corpus=CorpusRecord(("c",), {}, 1, "h", 1, ("x",), (1,), None),
        settings=Settings(window_tokens=8),
        packages={},
        created="",
        threads=1,
    )


def random_shard(seed: int, first_window: int, texts: int) -> Shard:
    """Whole numbers, so that float addition is exact and laws can be asked for to the last bit."""
    rng = np.random.default_rng(seed)
    keys = [
        (text, stack, layer, head)
        for text in range(first_window, first_window + texts)
        for (stack, layer), heads in HEADS.items()
        for head in range(1, heads + 1)
    ]
    text, stack, layer, head = zip(*keys, strict=True) if keys else ((), (), (), ())
    rows = pa.table(
        {
            "text": pa.array(text, pa.int64()),
            "stack": pa.array(stack, pa.string()),
            "layer": pa.array(layer, pa.int16()),
            "head": pa.array(head, pa.int16()),
            "texts": np.ones(len(keys)),
            "pairs": rng.integers(0, 50, len(keys)).astype(float),
            "focal_exclusiveness": rng.integers(0, 2, len(keys)).astype(float),
            "focal_token": pa.array(rng.integers(0, 9, len(keys)), pa.int32()),
        }
    )
    arrays = {}
    for stack_name, layers, heads in (("encoder", 2, 3), ("cross", 1, 2)):
        counts = rng.integers(0, 9, (layers, heads, 8)) * (texts > 0)
        arrays[f"{stack_name}/distance_histogram"] = counts.astype(float)
        around = rng.integers(0, 9, (4, 4)) * (texts > 0)
        arrays[f"{stack_name}/aligned_count"] = around.astype(float)
    return Shard(rows, arrays)


def joined(shards: list[Shard]) -> Shard:
    """All shards as one, by other means than the reduction's: concatenated rows, stacked arrays."""
    return Shard(
        pa.concat_tables([shard.rows for shard in shards]),
        {
            name: np.stack([shard.arrays[name] for shard in shards]).sum(0)
            for name in shards[0].arrays
        },
    )


def assert_identical(one, other) -> None:
    assert one.keys() == other.keys()
    for stack in one:
        assert one[stack].identical(other[stack])


@pytest.fixture
def shards() -> list[Shard]:
    return [random_shard(1, 0, 5), random_shard(2, 5, 5), random_shard(3, 10, 2)]


def test_streaming_equals_one_shot(manifest, shards):
    assert_identical(reduce_shards(manifest, shards), reduce_shards(manifest, [joined(shards)]))


def test_the_order_of_shards_does_not_matter(manifest, shards):
    first = reduce_shards(manifest, shards)
    for order in permutations(shards):
        assert_identical(reduce_shards(manifest, order), first)


def test_grouping_does_not_matter(manifest, shards):
    a, b, c = shards
    assert_identical(
        reduce_shards(manifest, [joined([a, b]), c]), reduce_shards(manifest, [a, joined([b, c])])
    )


def test_a_shard_without_texts_changes_nothing(manifest, shards):
    empty = random_shard(9, 0, 0)
    assert_identical(reduce_shards(manifest, [*shards, empty]), reduce_shards(manifest, shards))
    assert_identical(reduce_shards(manifest, [empty, *shards]), reduce_shards(manifest, shards))


def test_totals_equal_plain_sums_over_the_rows(manifest, shards):
    reduced = reduce_shards(manifest, shards)
    rows = joined(shards).rows.to_pylist()
    for (stack, layer), heads in HEADS.items():
        for head in range(1, heads + 1):
            mine = [
                row["pairs"]
                for row in rows
                if (row["stack"], row["layer"], row["head"]) == (stack, layer, head)
            ]
            total = reduced[stack]["total_pairs"].sel(layer=layer, head=head)
            assert total.item() == sum(mine)


def test_token_identities_are_not_summed(manifest, shards):
    assert "total_focal_token" not in reduce_shards(manifest, shards)["encoder"]
