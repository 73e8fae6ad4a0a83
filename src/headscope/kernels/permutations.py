"""Labels dealt out at random: what the measures give when labels mean nothing.

Permuting the order of tokens would leave every spectrum and every similarity as it is; so labels
are permuted, and the similarities stay where they are.
"""

import numpy as np
from jaxtyping import Int


def permute_sentences(
    sentence_ids: Int[np.ndarray, " token"], permutations: int, rng: np.random.Generator
) -> Int[np.ndarray, "permutation token"]:
    """Sentence ids after the sentences were put into random orders, their lengths kept.

    Since lengths are kept, so is the number of pairs inside a sentence at each distance. Tokens
    without a sentence (-1) stay without one. A text of one sentence has one order only.
    """
    inside = sentence_ids >= 0
    permuted = np.full((permutations, len(sentence_ids)), -1, dtype=np.int64)
    _, lengths = np.unique(sentence_ids[inside], return_counts=True)
    if len(lengths):
        order = rng.permuted(np.tile(np.arange(len(lengths)), (permutations, 1)), axis=1)
        ids = np.repeat(order.ravel(), lengths[order].ravel())
        permuted[:, inside] = ids.reshape(permutations, inside.sum())
    return permuted


def permute_tokens(
    token_ids: Int[np.ndarray, " token"], permutations: int, rng: np.random.Generator
) -> Int[np.ndarray, "permutation token"]:
    """Token identities after they were exchanged between places whose tokens are equally frequent.

    Frequency classes double: 1, 2, 3 to 4, 5 to 8, ... occurrences in the text. Each identity keeps
    its number of occurrences. Tokens with id -1 take no part.
    """
    permuted = np.tile(token_ids.astype(np.int64), (permutations, 1))
    kinds, inverse, counts = np.unique(token_ids, return_inverse=True, return_counts=True)
    frequency_class = np.ceil(np.log2(counts)).astype(np.int64)
    frequency_class[kinds < 0] = -1
    for chosen in np.unique(frequency_class[frequency_class >= 0]):
        places = np.flatnonzero(frequency_class[inverse] == chosen)
        permuted[:, places] = rng.permuted(permuted[:, places], axis=1)
    return permuted
