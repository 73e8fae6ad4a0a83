"""The columns of a shard's rows: which are keys, which are counts, which are fractions."""

import pyarrow as pa

KEY_COLUMNS = ("text", "stack", "layer", "head")
"""What a row is about; every other column is a number that may be summed."""

UNSUMMED_COLUMNS = ("focal_token", "focal_kind")
"""Identities, which no sum makes sense of."""

_SINGLE = pa.float32()
_TYPES = {
    "text": pa.int64(),
    "stack": pa.string(),
    "layer": pa.int16(),
    "head": pa.int16(),
    "focal_token": pa.int32(),
    "focal_kind": pa.int8(),
    "separator_attention": _SINGLE,
    "special_attention": _SINGLE,
    "first_attention": _SINGLE,
    "norm": _SINGLE,
    "separator_norm": _SINGLE,
    "block_contrast": _SINGLE,
    "focal_exclusiveness": pa.float64(),
}


def column_type(name: str) -> pa.DataType:
    """How a column is stored. What is not listed is a count, or an expected count."""
    default = pa.float64() if name.endswith("_expected") else pa.int64()
    return _TYPES.get(name, default)
