"""Whether a table holds windows that headscope could have cut.

A checksum shows that a file is the one that its manifest names; whoever wrote both can have written
anything. What breaks a rule here would measure something else than the manifest says, or end in an
error far from its cause.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headscope.settings import Settings
from headscope.text.kinds import SPECIAL_KINDS, TokenKind

_FIRST_IDS = {
    "token_ids": 0,
    "starts": -1,
    "ends": -1,
    "sentence_ids": -1,
    "word_ids": -1,
    "form_ids": -1,
    "lemma_ids": -1,
    "kinds": min(TokenKind),
    "head_ids": -1,
}
"""The smallest value of each list."""
_MAY_BE_EMPTY = ("label", "document_hash")
"""Columns of which cells may be empty: runs that keep copies have no hashes."""
_ONLY_AT_SPECIAL = ("starts", "ends", "sentence_ids", "word_ids")
"""Lists that are -1 at special tokens and nowhere else."""
_ALSO_AT_SPECIAL = ("form_ids", "lemma_ids", "head_ids")
"""Lists that are -1 at special tokens, and may be so elsewhere."""


def refuse_wrong_windows(table: pa.Table, schema: pa.Schema, settings: Settings) -> None:
    """ValueError (or one of Arrow) says what is wrong with a table of windows, if anything is.

    Args:
        table: All columns of the windows, or some.
        schema: The types that columns must have.
        settings: Of the run: how long windows are.
    """
    for field in table.schema:
        if field.name not in schema.names or field.type != schema.field(field.name).type:
            raise ValueError(f"column {field.name[:40]!r} is of a wrong type")
    table.validate(full=True)
    for name in table.column_names:
        if name not in _MAY_BE_EMPTY and table[name].null_count:
            raise ValueError(f"column {name!r} has empty cells")
    lists = {name: _combined(table[name]) for name in table.column_names if name in _FIRST_IDS}
    if "tokens" in table.column_names:
        lists["tokens"] = _combined(table["tokens"])
    lengths: NDArray[np.int64] | None = None
    for name, column in lists.items():
        of_column = np.diff(column.offsets.to_numpy().astype(np.int64))
        lengths = of_column if lengths is None else lengths
        if not np.array_equal(lengths, of_column):
            raise ValueError(f"{name} has other lengths than the other lists of its windows")
        if column.flatten().null_count:
            raise ValueError(f"{name} has empty places")
    if lengths is not None and len(lengths):
        shortest, longest = int(lengths.min()), int(lengths.max())
        if shortest < settings.min_tokens or longest > settings.window_tokens:
            raise ValueError(
                f"windows have {shortest} to {longest} tokens, not {settings.min_tokens} to "
                f"{settings.window_tokens}"
            )
    values = {name: column.flatten() for name, column in lists.items() if name != "tokens"}
    arrays = {name: column.to_numpy() for name, column in values.items()}
    _refuse_values(arrays, int(lengths.max()) if lengths is not None and len(lengths) else 0)
    if lengths is not None and {"sentence_ids", "kinds"} <= set(arrays):
        _refuse_order(arrays, lengths)


def _refuse_values(arrays: dict[str, NDArray[np.int32]], longest: int) -> None:
    for name, values in arrays.items():
        if not len(values):
            continue
        if values.min() < _FIRST_IDS[name]:
            raise ValueError(f"{name} has the value {values.min()}")
        numbered = name in ("sentence_ids", "word_ids", "form_ids", "lemma_ids", "head_ids")
        if numbered and values.max() >= longest:
            raise ValueError(f"{name} has the value {values.max()}, beyond the tokens of a window")
    kinds = arrays.get("kinds")
    if kinds is None or not len(kinds):
        return
    if kinds.max() > max(TokenKind):
        raise ValueError(f"kinds has the value {kinds.max()}")
    special = np.isin(kinds, SPECIAL_KINDS)
    for name in _ONLY_AT_SPECIAL:
        if name in arrays and not np.array_equal(arrays[name] == -1, special):
            raise ValueError(f"{name} is not -1 at special tokens and only there")
    for name in _ALSO_AT_SPECIAL:
        if name in arrays and (arrays[name][special] != -1).any():
            raise ValueError(f"{name} is not -1 at special tokens")
    if {"starts", "ends"} <= set(arrays) and (arrays["ends"] < arrays["starts"]).any():
        raise ValueError("ends lie before starts")


def _refuse_order(arrays: dict[str, NDArray[np.int32]], lengths: NDArray[np.int64]) -> None:
    """Sentences follow one another: within a window, their numbers never go down."""
    real = ~np.isin(arrays["kinds"], SPECIAL_KINDS)
    window = np.repeat(np.arange(len(lengths)), lengths)[real]
    sentences = arrays["sentence_ids"][real]
    same_window = window[1:] == window[:-1]
    if (np.diff(sentences)[same_window] < 0).any():
        raise ValueError("sentence_ids go down within a window")
    first = np.ones(len(sentences), dtype=bool)
    first[1:] = ~same_window
    if sentences[first].any():
        raise ValueError("sentence_ids do not begin at 0")


def _combined(column: pa.ChunkedArray) -> pa.ListArray:
    """A column of lists as one array whose offsets begin at 0."""
    if column.num_chunks == 1 and column.chunk(0).offset == 0:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
