"""What is drawn anew in a bootstrap of several runs: documents, the same ones for all runs.

Two models that read the same documents have errors in common: a document that is odd for one is
odd for the other. Drawing each document for both at once lets that cancel in their difference. It
does no harm where it is wrong: numbers of unrelated documents, drawn together, have an independent
difference all the same. So documents are told by corpus and name, and models with different
tokenizers, whose windows differ, are paired too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from headscope.run import Run
from headscope.runs.parquet_files import refuse_unreadable


@dataclass(frozen=True, eq=False)
class SharedDocuments:
    """The unit that each text of a run belongs to."""

    group: int
    """Runs of one group have units in common; groups are drawn independently."""
    size: int
    """SharedDocuments of the group."""
    of_text: Int[np.ndarray, " text"]

    @property
    def present(self) -> set[int]:
        """The units that the run has texts of."""
        return set(self.of_text.tolist())

    def shared(self, other: "SharedDocuments") -> int:
        """How many units two runs have in common."""
        return len(self.present & other.present) if self.group == other.group else 0


def shared_documents(runs: Sequence[Run]) -> list[SharedDocuments]:
    """The units of each run: documents, or windows where a corpus is one document."""
    corpora = [tuple(Path(source).name for source in run.manifest.corpus.sources) for run in runs]
    names = [_documents_of(run) for run in runs]
    units: list[SharedDocuments | None] = [None] * len(runs)
    for group, corpus in enumerate(dict.fromkeys(corpora)):
        members = [place for place, of_run in enumerate(corpora) if of_run == corpus]
        keys: Sequence[Sequence[object]] = [names[place] for place in members]
        if len({name for of_run in keys for name in of_run}) == 1:
            # Windows of one book: the same ones only where they were cut the same.
            keys = [
                [(runs[place].manifest.corpus.window_hashes, text) for text in range(len(of_run))]
                for place, of_run in zip(members, keys, strict=True)
            ]
        numbers = {
            key: number
            for number, key in enumerate(dict.fromkeys(key for of_run in keys for key in of_run))
        }
        for place, of_run in zip(members, keys, strict=True):
            of_text = np.array([numbers[key] for key in of_run], dtype=np.int64)
            units[place] = SharedDocuments(group, len(numbers), of_text)
    return [of_run for of_run in units if of_run is not None]


def _documents_of(run: Run) -> list[object]:
    """The document of each text."""
    with refuse_unreadable(f"a table of {run.folder}"):
        names: list[object] = run.windows().to_table(columns=["document"])["document"].to_pylist()
    return names
