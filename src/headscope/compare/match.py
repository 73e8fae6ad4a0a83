"""Matching heads: for each head of one model, the most similar head of another, by debiased CKA.

Every head of one model is compared with every head of the same stack of the other, by the vectors
that both write for the same tokens. The null is the same comparison on mismatched windows: token i
of one window against token i of another. What similarity remains comes from position alone, and
from choosing the best of many heads.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.compare.head_features import StackFeatures, head_features
from headscope.errors import ModelError, SettingsError, option
from headscope.kernels.debiased_cka import CentredHeads, debiased_cka
from headscope.models.load import ModelLike, as_loaded
from headscope.models.loaded import LoadedModel
from headscope.run import Run
from headscope.runs.window_files import windows_from_table
from headscope.settings import MATCH_WINDOWS
from headscope.system.progress import Progress, ProgressBars
from headscope.text.document import Document
from headscope.text.in_memory import checked_texts
from headscope.text.windows import Window, cut_windows

PERMUTATIONS = 3
"""How often windows are mismatched for the null."""


def match_heads(
    model: ModelLike,
    other: ModelLike,
    texts: Sequence[str],
    *,
    window: int = 128,
    seed: int = 0,
    progress: bool | Progress = False,
) -> pd.DataFrame:
    """For every head of `model`, the most similar head of `other`.

    A row per stack, layer and head: other_layer and other_head, the best match, with its `cka`;
    runner_up_layer, runner_up_head, runner_up_cka; `null`, the largest CKA that any head of `other`
    reaches on mismatched windows; `mutual`, whether the best match of the match is this head.

    Args:
        model: `demo`, a folder, a hub id, or what `hs.load_model` returned.
        other: The model to compare with. Both must have the same tokenizer.
        texts: A few dozen are enough; all head outputs for them are held in memory (see
            `headscope.compare.head_features`).
        window: Longer texts are cut into windows of this many tokens, special ones included.
        seed: Of the null.
        progress: Whether to show progress, or what to report it to.
    """
    one = as_loaded(model)
    two = as_loaded(other)
    _refuse_different_tokenizers(one, two)
    assert one.tokenizer is not None  # refused just above
    windows = [
        cut
        for number, text in enumerate(checked_texts(texts))
        for cut in cut_windows(
            Document(id=str(number), text=text),
            one.tokenizer,
            window_tokens=window,
            min_tokens=2,
        )
    ]
    return _match(one, two, windows, seed, progress)


def match_runs(
    run: Run,
    other: Run,
    *,
    models: Sequence[ModelLike] = (),
    texts: int = MATCH_WINDOWS,
    seed: int = 0,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    progress: bool | Progress = False,
) -> pd.DataFrame:
    """The same for the models of two runs, on windows of the first run.

    Args:
        run: The run of the model whose heads are matched.
        other: The run of the model to compare with.
        models: The models of both runs, as `load_model` takes them, or loaded. May be left out for
            runs of `demo`: what a run says of its model is checked, but never used as a path.
        texts: Number of windows, evenly spread over the first run.
        seed: Of the null.
        allow_pickle: Whether weights in pickle files may be loaded.
        trust_remote_code: Whether code that comes with a model may be run.
        progress: Whether to show progress, or what to report it to.
    """
    ours, theirs = run.manifest.model, other.manifest.model
    if ours.tokenizer_hash != theirs.tokenizer_hash:
        raise SettingsError(_other_tokenizer(ours.name, theirs.name))
    one, two = (
        as_loaded(
            spec,
            dtype=record.dtype,
            device=record.device,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
        )
        for spec, record in zip(_models_of((run, other), models), (ours, theirs), strict=True)
    )
    for loaded, record, folder in ((one, ours, run.folder), (two, theirs, other.folder)):
        if loaded.weights_hash != record.weights_hash:
            raise ModelError(
                f"{loaded.name} has other weights than the model of {folder}; pass the model that "
                "the run was made with, or analyse this one"
            )
    last = run.manifest.corpus.windows - 1
    chosen = np.unique(np.linspace(0, last, texts).round().astype(np.int64))
    windows = windows_from_table(run.windows().take(chosen))
    return _match(one, two, windows, seed, progress)


def _models_of(runs: tuple[Run, Run], models: Sequence[ModelLike]) -> Sequence[ModelLike]:
    """The models as they were passed; demo where none were, and both runs are of demo."""
    if models:
        if len(models) != len(runs):
            raise SettingsError(f"models: {len(models)} given, pass one for each run")
        return models
    for run in runs:
        if run.manifest.model.name != "demo":
            raise SettingsError(
                f"the model of {run.folder} must be passed to match heads: a run is never believed "
                "about where its model is; pass one model "
                f"for each run, in their order ({option('model')} MODEL, or models=[...] in Python)"
            )
    return ["demo", "demo"]


def _match(
    one: LoadedModel,
    two: LoadedModel,
    windows: Sequence[Window],
    seed: int,
    progress: bool | Progress,
) -> pd.DataFrame:
    if len(windows) < 2:
        raise SettingsError("matching heads needs at least two windows: the null mismatches them")
    stacks = _common_stacks(one, two)
    with ProgressBars() if progress is True else progress or Progress() as reporter:
        reporter.stage("head outputs", total=2)
        ours = head_features(one, windows, stacks)
        reporter.advance()
        theirs = head_features(two, windows, stacks)
        reporter.advance()
        reporter.stage("matching heads", total=len(stacks) * (1 + PERMUTATIONS))
        tables = [
            _match_stack(stack, ours[stack], theirs[stack], seed, reporter) for stack in stacks
        ]
    return pd.concat(tables, ignore_index=True)


def _match_stack(
    stack: str, ours: StackFeatures, theirs: StackFeatures, seed: int, reporter: Progress
) -> pd.DataFrame:
    tokens = np.arange(sum(ours.window_tokens))
    cka = _all_pairs(ours, theirs, tokens, tokens)
    reporter.advance()
    rng = np.random.default_rng(seed)
    null = np.full(len(cka), -np.inf)
    for _ in range(PERMUTATIONS):
        mismatched = _all_pairs(ours, theirs, *_mismatched_tokens(ours.window_tokens, rng))
        null = np.fmax(null, _largest(mismatched))
        reporter.advance()
    here, there = _names(ours), _names(theirs)
    order = np.argsort(-np.nan_to_num(cka, nan=-np.inf), axis=1)
    best, second = order[:, 0], order[:, min(1, len(there) - 1)]
    mutual = np.nan_to_num(cka, nan=-np.inf).argmax(axis=0)[best] == np.arange(len(here))
    rows = np.arange(len(here))
    return pd.DataFrame(
        {
            "stack": stack,
            "layer": [layer for layer, _ in here],
            "head": [head for _, head in here],
            "other_layer": [there[place][0] for place in best],
            "other_head": [there[place][1] for place in best],
            "cka": cka[rows, best],
            "runner_up_layer": [there[place][0] for place in second],
            "runner_up_head": [there[place][1] for place in second],
            "runner_up_cka": cka[rows, second],
            "null": null,
            "mutual": mutual,
        }
    )


def _all_pairs(
    ours: StackFeatures,
    theirs: StackFeatures,
    our_tokens: NDArray[np.int64],
    their_tokens: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The CKA of all heads of one stack with all of another, a pair of layers at a time."""
    here, there = torch.from_numpy(our_tokens), torch.from_numpy(their_tokens)
    others = [CentredHeads.of(vectors[there]) for vectors in theirs.vectors.values()]
    rows = []
    for vectors in ours.vectors.values():
        mine = CentredHeads.of(vectors[here])
        rows.append(torch.cat([debiased_cka(mine, other) for other in others], dim=1))
    return np.asarray(torch.cat(rows).numpy(), dtype=np.float64)


def _mismatched_tokens(
    window_tokens: Sequence[int], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens of each window paired with those of another one, position by position.

    Windows of similar length are paired; the longer one loses its end.
    """
    starts = np.cumsum([0, *window_tokens[:-1]])
    # A circle of windows by length, random among equals: each is paired with its neighbour.
    circle = np.lexsort((rng.random(len(window_tokens)), np.asarray(window_tokens)))
    here, there = [], []
    for mine, other in zip(circle, np.roll(circle, 1), strict=True):
        common = np.arange(min(window_tokens[mine], window_tokens[other]))
        here.append(starts[mine] + common)
        there.append(starts[other] + common)
    return np.concatenate(here), np.concatenate(there)


def _largest(cka: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest value of each row; NaN for a head that always writes the same vector."""
    known = np.where(np.isnan(cka), -np.inf, cka).max(axis=1)
    return np.where(np.isinf(known), np.nan, known)


def _names(features: StackFeatures) -> list[tuple[int, int]]:
    """Layer and head of each row, from 1."""
    return [
        (layer, head + 1)
        for layer, vectors in features.vectors.items()
        for head in range(vectors.shape[1])
    ]


def _common_stacks(one: LoadedModel, two: LoadedModel) -> list[str]:
    common = [
        stack
        for stack in one.stacks
        if stack in two.stacks and one.reads_shifted(stack) == two.reads_shifted(stack)
    ]
    if not common:
        raise SettingsError(
            f"{one.name} has {', '.join(one.stacks)} attention and {two.name} "
            f"{', '.join(two.stacks)}: no stacks that read the same tokens"
        )
    return common


def _refuse_different_tokenizers(one: LoadedModel, two: LoadedModel) -> None:
    if one.tokenizer is None or two.tokenizer is None:
        raise SettingsError("heads are matched on texts; pass models with a tokenizer")
    if one.tokenizer.fingerprint != two.tokenizer.fingerprint:
        raise SettingsError(_other_tokenizer(one.name, two.name))


def _other_tokenizer(one: str, two: str) -> str:
    return (
        f"heads of {one} and {two} cannot be matched: they have different tokenizers, so their "
        "vectors belong to different tokens; match models with the same tokenizer"
    )
