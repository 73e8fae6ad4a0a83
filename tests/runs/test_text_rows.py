from concurrent.futures import ThreadPoolExecutor

import numpy as np

from headscope.runs.text_rows import TextRows

TEXTS, HEADS = 64, 3


def columns_of(places: np.ndarray) -> dict[str, np.ndarray]:
    by_head = places[:, None] * 10.0 + np.arange(HEADS)
    return {"pairs": by_head, "by_threshold": by_head[..., None] + np.array([0.1, 0.2])}


def test_threads_fill_one_table():
    rows = TextRows(TEXTS)
    places = np.random.default_rng(0).permutation(TEXTS)[:-1]

    def put(some: np.ndarray) -> None:
        for layer in (2, 1):
            rows.put("encoder", layer, some, columns_of(some))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, np.array_split(places, 16)))
    layers = list(rows.layers())
    assert [(stack, layer) for stack, layer, _ in layers] == [("encoder", 1), ("encoder", 2)]
    expected = columns_of(np.arange(TEXTS))
    left = np.setdiff1d(np.arange(TEXTS), places)
    for _, _, columns in layers:
        for name, values in expected.items():
            np.testing.assert_array_equal(columns[name][places], values[places])
            assert np.isnan(columns[name][left]).all()


def test_without_columns_there_are_no_layers():
    rows = TextRows(TEXTS)
    rows.put("encoder", 1, np.arange(TEXTS), {})
    assert list(rows.layers()) == []
