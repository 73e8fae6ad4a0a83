"""What each layer of a model knows: the verb."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from headscope.errors import ModelError, SettingsError, option
from headscope.findings.lens.confusion import confusion_clusters
from headscope.findings.lens.guesses import Guesses, guesses_of, layer_means
from headscope.findings.lens.token_types import TypeAccuracy, token_frequencies, type_accuracy
from headscope.findings.resampling.bootstrap import Interval
from headscope.findings.resampling.window_cells import documents_of, resample_windows
from headscope.lens.result import ConfusedTokens, LayerLens, Lens
from headscope.lens.study import PROBE, LensStudy
from headscope.lens.words import WordStudy
from headscope.measuring.outcome import Outcome
from headscope.measuring.run_windows import default_folder, stage
from headscope.measuring.study import StudyTable, run_study
from headscope.measuring.study_request import (
    StudyOptions,
    load_with_head,
    study_request,
    study_settings,
)
from headscope.models.loaded import LoadedModel
from headscope.models.own_head import OwnHead
from headscope.settings import (
    LENS_POSITIONS,
    LENS_SHARD,
    LENS_WINDOWS,
    Settings,
    refuse_unknown_options,
)
from headscope.system.progress import Progress, ProgressBars
from headscope.text.in_memory import CorpusLike


def lens(
    model: str | Path | LoadedModel = "demo",
    corpus: CorpusLike = "demo",
    *,
    texts: int | None = LENS_WINDOWS,
    first: bool = False,
    positions: int | None = LENS_POSITIONS,
    whole_words: bool = False,
    probe: str | None = None,
    out: str | Path | None = None,
    progress: bool | Progress = True,
    log: str | Path | None = None,
    **options: Unpack[StudyOptions],
) -> Lens:
    """What each layer of a language model guesses, over a corpus, through the model's own head.

    The states of every layer at scored positions go through all that the model does after its last
    layer. Causal models guess the next token; masked ones hidden tokens (15 %, fixed by the seed)
    and, apart, tokens that they see; encoder-decoders what they write themselves. The same call
    resumes an interrupted one.

    Args:
        model: A hub id or a local folder, which are loaded with their head; or a model from
            `hs.load_model(..., head=True)`.
        corpus: One or more of `demo`, a file, a folder, `-` for standard input, `hf:NAME`; or texts
            in memory.
        texts: Number of windows, drawn at random over the corpus; None for all.
        first: Whether to take the first windows instead.
        positions: Maximum number of scored positions of a window, drawn at random; None for all.
        whole_words: Whether masked language models have whole words hidden, and not tokens.
        probe: `tokens`: layers are also read through affine maps to the last layer's states, which
            are fitted on other documents and kept in the folder (`probe.safetensors`). `words`:
            what layers hold of parts of speech, instead, for any model, on a corpus that marks
            them.
        out: The folder of the study (default: one in `runs/`).
        progress: Whether to show progress on standard error, or an object that receives it.
        log: A file to which every event is appended as a line of JSON.
        **options: `window`, `min_tokens`, `layers`, `seed`, `keep_duplicates`, `shard_windows`,
            `batch_tokens` (see `headscope.settings.Settings`); how the model is loaded (`dtype`,
            `device`, `allow_pickle`, `trust_remote_code`); which columns of tables are read.
    """
    refuse_unknown_options("lens", options, StudyOptions)
    if positions is not None and positions < 1:
        raise SettingsError(f"positions: {positions} is too few; ask for at least 1")
    if probe not in (None, "tokens", "words"):
        raise SettingsError(f"probe: {probe!r} is unknown; choose tokens or words")
    settings = study_settings(options, shard_windows=LENS_SHARD)
    request = study_request(corpus, texts, options, first=first)
    with ExitStack() as stack:
        reported = ProgressBars() if progress is True else progress or Progress()
        stack.enter_context(reported)
        loaded = load_with_head(model, options, reported)
        loaded.sites_of(settings.layers)
        head = OwnHead(loaded)
        folder = Path(out) if out is not None else default_folder(loaded.name, request, "lens")
        study: LensStudy | WordStudy
        if probe == "words":
            study = WordStudy(head, request, settings)
        elif head.predicts:
            outcome = Outcome(loaded, settings.seed, whole_words=whole_words)
            study = LensStudy(outcome, head, settings, positions, probe=probe is not None)
        else:
            raise ModelError(
                f"{loaded.name} has no head that predicts tokens, so its layers guess nothing; "
                "choose a language model (causal, masked or encoder-decoder), or pass "
                f"{option('probe', 'words')} to see what its layers hold of parts of speech"
            )
        table = run_study(study, loaded, request, settings, folder, progress=reported, log=log)
        with stage("resampling", reported):
            if isinstance(study, WordStudy):
                result = _words_result(study, table, settings, str(request))
            else:
                result = _result(study, table, settings, str(request), positions)
            table.write_result(result.to_json())
        return result


def _result(
    study: LensStudy, table: StudyTable, settings: Settings, corpus: str, positions: int | None
) -> Lens:
    documents = documents_of(table.run, table.windows)
    frequencies = _frequencies(study, table)
    readings: dict[str, dict[str, Sequence[Interval]]] = {}
    types: list[TypeAccuracy] = []
    for reading, prefix in {"lens": "", **({"probe": PROBE} if study.probe else {})}.items():
        for group, name in enumerate(study.groups):
            guesses = guesses_of(table.cells, group, documents, prefix)
            types.append(type_accuracy(guesses, frequencies, settings.seed))
            scores: dict[str, Sequence[Interval]] = dict(layer_means(guesses, settings.seed))
            scores["token_type_accuracy"] = types[-1].overall
            readings[reading if group == 0 else f"{reading}_{name}"] = scores
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
        folder=table.run.path,
    )


def _words_result(study: WordStudy, table: StudyTable, settings: Settings, corpus: str) -> Lens:
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
