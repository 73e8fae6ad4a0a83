from concurrent.futures import ThreadPoolExecutor

import numpy as np

from headscope.measuring.shard_builder import WindowRows

TEXTS = 64
HEADS = {"decoder": 4, "encoder": 3}


def columns_of(places: np.ndarray, stack: str) -> dict[str, np.ndarray]:
    by_head = places[:, None] * 10.0 + np.arange(HEADS[stack]) + 1000 * (stack == "encoder")
    return {"pairs": by_head, "by_threshold": by_head[..., None] + np.array([0.1, 0.2])}


def test_threads_fill_one_table():
    rows = WindowRows(TEXTS, HEADS)
    places = np.random.default_rng(0).permutation(TEXTS)[:-1]

    def put(some: np.ndarray) -> None:
        for stack in ("encoder", "decoder"):
            rows.put(stack, some, columns_of(some, stack))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, np.array_split(places, 16)))
    left = np.setdiff1d(np.arange(TEXTS), places)
    by_stack = [columns_of(np.arange(TEXTS), stack) for stack in HEADS]
    assert set(rows.columns) == set(by_stack[0])
    for name, values in rows.columns.items():
        expected = np.concatenate([columns[name] for columns in by_stack], axis=1)
        np.testing.assert_array_equal(values[places], expected[places])
        assert np.isnan(values[left]).all()


def test_without_columns_there_are_none():
    rows = WindowRows(TEXTS, HEADS)
    rows.put("encoder", np.arange(TEXTS), {})
    assert not rows.columns
