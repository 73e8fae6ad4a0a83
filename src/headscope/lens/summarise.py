"""The results of the studies of `lens`, from their numbers."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.findings.lens.confusion import confusion_clusters
from headscope.findings.lens.guesses import Guesses, guesses_of, layer_means
from headscope.findings.lens.heads import EFFECTS, HeadEffects, head_effects
from headscope.findings.lens.token_types import TypeAccuracy, token_frequencies, type_accuracy
from headscope.findings.resampling.bootstrap import Interval
from headscope.findings.resampling.window_cells import documents_of, resample_windows
from headscope.lens.probe import PROBE
from headscope.lens.result import ConfusedTokens, LayerLens, Lens
from headscope.lens.study import HEADS, LensStudy
from headscope.lens.tree_study import TreeStudy
from headscope.lens.words import WordStudy
from headscope.measuring.study import StudyTable
from headscope.settings import Settings


def guesses_result(
    study: LensStudy, table: StudyTable, settings: Settings, corpus: str, positions: int | None
) -> Lens:
    """What each layer guesses.

    Args:
        study: What was measured.
        table: Its numbers.
        settings: Of the study.
        corpus: In words.
        positions: Maximum number of scored positions of a window; None for all.
    """
    documents = documents_of(table.run, table.windows)
    frequencies = _frequencies(study, table)
    readings: dict[str, dict[str, Sequence[Interval]]] = {}
    types: list[TypeAccuracy] = []
    for name, prefix, group in _readings(study):
        guesses = guesses_of(table.cells, group, documents, prefix)
        types.append(type_accuracy(guesses, frequencies, settings.seed))
        scores: dict[str, Sequence[Interval]] = dict(layer_means(guesses, settings.seed))
        scores["token_type_accuracy"] = types[-1].overall
        readings[name] = scores
    return Lens(
        model=study.outcome.model.name,
        corpus=corpus,
        outcome=study.outcome.kind,
        windows=len(table.windows),
        documents=len(np.unique(documents)),
        positions=int(np.isfinite(table.cells["target"][:, 0]).sum()),
        positions_asked=positions,
        layers=tuple(
            LayerLens(
                study.head.stack,
                layer,
                {
                    name: {score: values[place] for score, values in scores.items()}
                    for name, scores in readings.items()
                },
            )
            for place, layer in enumerate(study.layers)
        ),
        token_types=types[0].types,
        by_frequency=types[0].by_frequency,
        confused=_confused(study, guesses_of(table.cells, 0, documents)),
        head_effects=_head_effects(study, table, documents, settings.seed),
        folder=table.run.path,
    )


def words_result(study: WordStudy, table: StudyTable, settings: Settings, corpus: str) -> Lens:
    """What layers hold of parts of speech.

    Args:
        study: What was measured.
        table: Its numbers.
        settings: Of the study.
        corpus: In words.
    """
    documents = documents_of(table.run, table.windows)
    words = table.cells["words"][:, None]
    right = resample_windows(table.cells["right"], words, documents, settings.seed).intervals()
    usual = resample_windows(table.cells["usual"][:, None], words, documents, settings.seed)
    return Lens(
        model=study.head.model.name,
        corpus=corpus,
        outcome="words",
        windows=len(table.windows),
        documents=len(np.unique(documents)),
        positions=int(words.sum()),
        layers=tuple(
            LayerLens(study.head.stack, layer, {"probe": {"part_of_speech": right[place]}})
            for place, layer in enumerate(study.layers)
        ),
        usual_part=usual.intervals()[0],
        folder=table.run.path,
    )


def trees_result(study: TreeStudy, table: StudyTable, settings: Settings, corpus: str) -> Lens:
    """What layers hold of distances in dependency trees.

    Args:
        study: What was measured.
        table: Its numbers.
        settings: Of the study.
        corpus: In words.
    """
    documents, cells = documents_of(table.run, table.windows), table.cells

    def share(above: str, below: str) -> list[Interval]:
        values = cells[above].reshape(len(documents), -1)
        return resample_windows(values, cells[below][:, None], documents, settings.seed).intervals()

    measured = {"tree_distance": ("agreement", "words"), "tree_edges": ("found", "edges")}
    by_layer = {name: share(*columns) for name, columns in measured.items()}
    return Lens(
        model=study.head.model.name,
        corpus=corpus,
        outcome="distances",
        windows=len(table.windows),
        documents=len(np.unique(documents)),
        positions=int(cells["words"].sum()),
        layers=tuple(
            LayerLens(
                study.head.stack,
                layer,
                {"probe": {name: values[place] for name, values in by_layer.items()}},
            )
            for place, layer in enumerate(study.layers)
        ),
        linear_distance={
            name: share(f"linear_{above}", below)[0] for name, (above, below) in measured.items()
        },
        folder=table.run.path,
    )


def _readings(study: LensStudy) -> Iterator[tuple[str, str, int]]:
    """Each reading, with the prefix of its cells and the place of its group of positions."""
    for reading, prefix in {"lens": "", **({"probe": PROBE} if study.probe else {})}.items():
        for group, name in enumerate(study.groups):
            yield reading if group == 0 else f"{reading}_{name}", prefix, group


def _head_effects(
    study: LensStudy, table: StudyTable, documents: NDArray[np.int64], seed: int
) -> HeadEffects | None:
    if study.heads is None:
        return None
    scored = np.isfinite(table.cells["target"]).sum(-1).astype(np.float64)
    readings = list(_readings(study))
    return head_effects(
        study.heads.heads,
        {
            name: {effect: table.cells[f"{HEADS}{prefix}{effect}"][:, group] for effect in EFFECTS}
            for name, prefix, group in readings
        },
        {name: scored[:, group] for name, _, group in readings},
        documents,
        seed,
    )


def _confused(study: LensStudy, guesses: Guesses) -> tuple[ConfusedTokens, ...]:
    tokenizer = study.outcome.model.tokenizer
    assert tokenizer is not None
    text = tokenizer.token_text
    return tuple(
        ConfusedTokens(
            tuple(text(token) for token in cluster.tokens),
            tuple((text(c.true), text(c.taken_for), c.times, c.of) for c in cluster.confusions),
        )
        for cluster in confusion_clusters(guesses, len(study.layers) - 1)
    )


def _frequencies(study: LensStudy, table: StudyTable) -> NDArray[np.int64]:
    """How often each token is in the windows; for a model that writes, in what it was to guess."""
    targets = table.cells["target"]
    scored = targets[np.isfinite(targets)].astype(np.int64)
    size = int(scored.max(initial=0)) + 1
    if study.outcome.kind == "seq2seq":
        return token_frequencies([scored], size)
    run = table.run
    windows = [
        window.token_ids.astype(np.int64)
        for number in range(run.manifest.shards)
        for window in run.read_windows(number)
    ]
    return token_frequencies([ids[ids < size] for ids in windows], size)
