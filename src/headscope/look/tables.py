"""The tables of a view: pairs and focal tokens, a layer at a time."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from headscope.kernels.pairs import focal_tokens
from headscope.kernels.window_batch import SENTENCE, TOKEN
from headscope.look.arrays import as_array

if TYPE_CHECKING:
    from headscope.look.view import View


def pair_table(view: "View", place: int) -> pd.DataFrame:
    """The pairs of a layer, a row each, the most similar of a head first.

    Args:
        view: The view.
        place: Of the layer in its arrays.
    """
    pairs, score = view.chosen[place]
    batch = view.here.batch
    head, i, j = (as_array(values) for values in (pairs.head, pairs.i, pairs.j))
    sentence, token = (as_array(batch.queries.groups[group, 0]) for group in (SENTENCE, TOKEN))
    names = np.array(view.tokens, dtype=object)
    table = pd.DataFrame(
        {
            "stack": view.stack_name,
            "layer": view.layers[place],
            "head": head + 1,
            "i": i,
            "j": j,
            "distance": j - i,
            "score": score,
            "token_i": names[i],
            "token_j": names[j],
            "same_sentence": (sentence[i] == sentence[j]) & (sentence[i] >= 0),
            "same_token": token[i] == token[j],
        }
    )
    if not batch.cross:
        high = view.high_attention[place]
        table["high_attention"] = high[head, i] | high[head, j]
    by_score = ["head", "score"]
    return table.sort_values(by_score, ascending=[True, False], kind="stable")


def focal_table(view: "View", place: int) -> pd.DataFrame:
    """The focal token of each head of a layer that has pairs.

    Args:
        view: The view.
        place: Of the layer in its arrays.
    """
    pairs, _ = view.chosen[place]
    batch = view.here.batch
    found = focal_tokens(pairs, batch.first)
    first = as_array(found.place[0])
    head = np.flatnonzero(first >= 0)
    return pd.DataFrame(
        {
            "stack": view.stack_name,
            "layer": view.layers[place],
            "head": head + 1,
            "token": np.array(view.tokens, dtype=object)[first[head]],
            "token_id": as_array(batch.queries.token_ids[0])[first[head]],
            "place": first[head],
            "count": as_array(found.elements[0])[head].astype(np.int64),
            "pairs": as_array(pairs.count()[0])[head].astype(np.int64),
        }
    )
