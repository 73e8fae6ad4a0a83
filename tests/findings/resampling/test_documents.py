"""Documents as resampling sees them, against plain loops."""

import pyarrow as pa
import pyarrow.dataset as ds
from hypothesis import given
from hypothesis import strategies as st

from headscope.findings.resampling.documents import document_numbers

windows = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from(["x", "y", "z", None])),
    min_size=1,
    max_size=20,
)


def dataset(rows, hashes=True):
    columns = {"document": pa.array([document for document, _ in rows], pa.string())}
    if hashes:
        columns["document_hash"] = pa.array([text for _, text in rows], pa.string())
    return ds.dataset(pa.table(columns))


def plain_numbers(runs):
    """The id of the first document with that text, numbered in the order of appearance."""
    first, numbers = {}, {}
    found = []
    for rows in runs:
        found.append([])
        for document, text in rows:
            unit = document if text is None else first.setdefault(text, document)
            found[-1].append(numbers.setdefault(unit, len(numbers)))
    return found


@given(st.lists(windows, min_size=1, max_size=3))
def test_copies_have_the_number_of_the_first_of_them_in_all_runs(runs):
    found = document_numbers(*(dataset(rows) for rows in runs))
    assert [numbers.tolist() for numbers in found] == plain_numbers(runs)


@given(windows, windows)
def test_without_hashes_a_document_is_its_id(rows, others):
    found = document_numbers(dataset(rows, hashes=False), dataset(others))
    plain = plain_numbers([[(document, None) for document, _ in rows], others])
    assert [numbers.tolist() for numbers in found] == plain
