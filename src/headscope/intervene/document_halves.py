"""Windows of a corpus in two halves that share no document: one chooses, the other judges."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from jaxtyping import Int64

from headscope.errors import CorpusError
from headscope.findings.resampling.window_cells import documents_of
from headscope.measuring.describe import describe_run
from headscope.measuring.run_windows import cut_run_windows
from headscope.measuring.windows import CorpusRequest
from headscope.models.loaded import LoadedModel
from headscope.runs.folder import RunFolder
from headscope.settings import Settings
from headscope.system.progress import Progress
from headscope.text.windows import Window

FEWEST_DOCUMENTS = 4
"""Two to choose by, two to judge by. Intervals need more."""


@dataclass(frozen=True, eq=False, slots=True)
class DocumentHalf:
    """The windows of one half of the documents."""

    windows: list[Window]
    documents: Int64[np.ndarray, " window"]
    """The number of each window's document; copies of a text have one number."""


def document_halves(
    model: LoadedModel, request: CorpusRequest, settings: Settings, progress: Progress
) -> tuple[DocumentHalf, DocumentHalf]:
    """Windows of one half of the documents, and of the other; copies of a text stay together.

    Args:
        model: Whose tokenizer cuts them.
        request: Which windows are asked for.
        settings: How windows are cut, and the seed by which documents are dealt.
        progress: Is told of the cutting.
    """
    with TemporaryDirectory(prefix="headscope-") as scratch:
        folder = Path(scratch)
        corpus = cut_run_windows(model, request, settings, folder, progress)
        run = RunFolder(folder, describe_run(model, corpus, settings, model.sites))
        windows = [
            window for number in range(run.manifest.shards) for window in run.read_windows(number)
        ]
        documents = documents_of(run, np.arange(len(windows)))
    numbers = np.unique(documents)
    if len(numbers) < FEWEST_DOCUMENTS:
        raise CorpusError(
            f"pruning chooses on one half of the documents and judges on the other, so it needs "
            f"at least {FEWEST_DOCUMENTS}; documents with a window in {request}: {len(numbers)}"
        )
    shuffled = np.random.default_rng(settings.seed).permutation(numbers)
    first = np.isin(documents, shuffled[::2])
    choosing, judging = (
        DocumentHalf([windows[place] for place in np.flatnonzero(half)], documents[half])
        for half in (first, ~first)
    )
    return choosing, judging
