"""The pairs of a few windows of a run, kept so that pages can show them without the model."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch

from headscope.kernels.pairs import choose_pairs
from headscope.kernels.similarity import similarity
from headscope.measuring.batch import stack_reading
from headscope.measuring.labels import label_tokens
from headscope.measuring.shard import refuse_unknown_tokens
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite, MassCapture
from headscope.runs.examples import SCHEMA, has_examples, write_examples
from headscope.runs.folder import RunFolder
from headscope.settings import Settings
from headscope.system.threads import Turn, in_order
from headscope.text.windows import Window

EXAMPLES = 4
"""Number of windows, evenly spread over the run."""
MAX_PAIRS = 120
"""Maximum number of pairs per head and window, the most similar ones: more cannot be read."""
LONGEST = 1024
"""Maximum number of tokens: matrices of longer windows take gigabytes, and cannot be read."""


def measure_examples(run: RunFolder, model: LoadedModel, sites: Sequence[AttentionSite]) -> None:
    """Write the pairs of a few windows to the run folder, unless they are there.

    Args:
        run: Its `examples` are written.
        model: What reads the windows.
        sites: Which attention layers are measured.
    """
    if has_examples(run.path):
        return
    corpus = run.manifest.corpus
    measured = np.setdiff1d(np.arange(corpus.windows), [window.text for window in run.left_out])
    if not len(measured):
        return
    places = measured[np.unique(np.linspace(0, len(measured) - 1, EXAMPLES).round().astype(int))]
    windows = run.read_windows_at(places)
    refuse_unknown_tokens(run, model, windows)
    short = [
        (int(place), window)
        for place, window in zip(places, windows, strict=True)
        if window.n_tokens <= LONGEST
    ]
    tables: dict[int, pd.DataFrame] = {}

    def worker() -> Callable[[tuple[int, Window], Turn], None]:
        def measure(example: tuple[int, Window], turn: Turn) -> None:
            place, window = example
            found = _pairs_of(model, window, place, run.manifest.settings, sites)
            turn()
            tables[place] = found

        return measure

    in_order(worker, short, torch.get_num_threads() if model.device.type == "cpu" else 1)
    write_examples(run.path, pd.concat([SCHEMA.empty_table().to_pandas(), *tables.values()]))


def _pairs_of(
    model: LoadedModel,
    window: Window,
    number: int,
    settings: Settings,
    sites: Sequence[AttentionSite],
) -> pd.DataFrame:
    labels = label_tokens([window], model.device)
    numbers = np.array([number], dtype=np.int64)
    batches = {
        stack: stack_reading(model, stack, labels, settings, numbers)
        for stack in dict.fromkeys(site.stack for site in sites)
    }
    tables: list[pd.DataFrame] = []

    def on_layer(capture: MassCapture) -> None:
        counted = batches[capture.site.stack].counted
        matrix = similarity(capture.head_output, settings.similarity, counted)
        pairs = choose_pairs(matrix, counted, settings.pairs)
        score = matrix[pairs.window, pairs.head, pairs.i, pairs.j]
        table = pd.DataFrame(
            {
                "text": number,
                "stack": capture.site.stack,
                "layer": capture.site.layer,
                "head": pairs.head.cpu().numpy() + 1,
                "i": pairs.i.cpu().numpy(),
                "j": pairs.j.cpu().numpy(),
                "score": score.cpu().numpy().astype(np.float32),
            }
        ).sort_values(["head", "score"], ascending=[True, False], kind="stable")
        tables.append(table.groupby("head", sort=False).head(MAX_PAIRS))

    # As in measuring, no attention map is needed, and none is held.
    model.forward_mass(labels.token_ids, labels.real, on_layer, sites=sites)
    return pd.concat(tables)
