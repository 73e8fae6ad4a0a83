"""What a run was measured on, in a line each: the sample, the copies in it, its labels."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from headscope.runs.records import CorpusRecord

if TYPE_CHECKING:
    import pyarrow.dataset as ds

MOST_LABELS = 20
"""More labels than this are not listed one by one."""


@dataclass(frozen=True, slots=True)
class LabelCount:
    """How much of a run has one label."""

    label: str
    windows: int
    documents: int


def sample_sentence(corpus: CorpusRecord) -> str:
    """How many windows there are, and how they were taken.

    Args:
        corpus: Of the manifest.
    """
    windows, documents = _number(corpus.windows, "window"), _number(corpus.documents, "document")
    sampled = f"{_number(corpus.documents_sampled or 0, 'document')} in the sample"
    if corpus.sample == "all":
        without = corpus.documents - (corpus.documents_sampled or 0)
        too_short = f", of which {without:,} are too short for a window" if without else ""
        return f"all {windows} of {documents}{too_short}"
    if corpus.sample == "first":
        return f"the first {windows}; {sampled}"
    if corpus.sample == "random":
        total = corpus.windows_available
        of_total = windows if total is None else f"{corpus.windows:,} of {total:,} windows"
        return f"{of_total}, drawn at random from {documents}; {sampled}"
    return f"{windows} of {documents}"


def copies_sentence(corpus: CorpusRecord, *, keep: bool = False) -> str:
    """How many documents are copies, and what that means; empty if there are none.

    Args:
        corpus: Of the manifest.
        keep: Whether copies count as documents of their own, the setting `keep_duplicates`.
    """
    if not corpus.duplicates:
        return ""
    of_sample = corpus.duplicates_sampled or 0
    sampled = "" if corpus.sample == "all" else f", {of_sample:,} of them in the sample"
    counting = (
        "each counts as a document of its own (--keep-duplicates)"
        if keep
        else "copies count as one document in intervals and verdicts (unless --keep-duplicates)"
    )
    return (
        f"{corpus.duplicates:,} of {_number(corpus.documents, 'document')} are copies of others, "
        f"up to case, white space and punctuation{sampled}; {counting}"
    )


def label_counts(windows: "ds.Dataset") -> list[LabelCount]:
    """The labels of a run with their windows and documents, the most frequent first.

    Args:
        windows: From `RunFolder.windows`.
    """
    table = windows.to_table(columns=["label", "document"])
    table = table.filter(table["label"].is_valid())
    grouped = table.group_by("label").aggregate([([], "count_all"), ("document", "count_distinct")])
    counts = [
        LabelCount(row["label"], row["count_all"], row["document_count_distinct"])
        for row in grouped.to_pylist()
    ]
    return sorted(counts, key=lambda count: (-count.windows, count.label))


def labels_sentence(counts: Sequence[LabelCount]) -> str:
    """The labels in a line; empty if there are none.

    Args:
        counts: From `label_counts`.
    """
    named = [
        f"{count.label} {_number(count.windows, 'window')} ({_number(count.documents, 'document')})"
        for count in counts[:MOST_LABELS]
    ]
    more = [f"and {len(counts) - MOST_LABELS:,} more"] if len(counts) > MOST_LABELS else []
    return ", ".join(named + more)


def sample_json(corpus: CorpusRecord, counts: Iterable[LabelCount]) -> dict[str, Any]:
    """The same for programs.

    Args:
        corpus: Of the manifest.
        counts: From `label_counts`.
    """
    return {
        "sample": corpus.sample,
        "windows": corpus.windows,
        "windows_available": corpus.windows_available,
        "documents": corpus.documents,
        "documents_sampled": corpus.documents_sampled,
        "duplicates": corpus.duplicates,
        "duplicates_sampled": corpus.duplicates_sampled,
        "labels": [asdict(count) for count in counts],
    }


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
