"""Remarks: in words, the differences between runs that limit their comparison."""

from collections.abc import Iterator, Mapping

from headscope.run import Run
from headscope.runs.corpus_summary import sample_sentence
from headscope.runs.manifest import Manifest

_SETTINGS = {
    "window_tokens": "windows of {} tokens",
    "min_tokens": "windows of at least {} tokens",
    "similarity": "{} similarity",
    "pairs": "pairs {}",
    "special_tokens": "special tokens in pairs: {}",
}
"""The settings that affect a compared value."""


def remarks(runs: Mapping[str, Run]) -> tuple[str, ...]:
    """The differences between the first run and the others, a sentence each.

    Args:
        runs: By label.
    """
    first = next(iter(runs))
    found: dict[str, list[str]] = {}
    for label, run in runs.items():
        for remark in _about(run):
            found.setdefault(remark, []).append(label)
        for remark in _between(runs[first], run, first) if label != first else ():
            found.setdefault(remark, []).append(label)
    return tuple(f"{', '.join(labels)}: {remark}" for remark, labels in found.items())


def _about(run: Run) -> Iterator[str]:
    layers = run.manifest.settings.layers
    if layers is not None:
        yield (
            f"only layers {', '.join(map(str, layers))} were measured; depth is relative to the "
            "deepest of them"
        )


def _between(first: Run, run: Run, name: str) -> Iterator[str]:
    ours, theirs = first.manifest, run.manifest
    for setting, form in _SETTINGS.items():
        mine, other = getattr(ours.settings, setting), getattr(theirs.settings, setting)
        if mine != other:
            yield f"{form.format(other)}, where {name} has {form.format(mine)}"
    if ours.corpus.hash != theirs.corpus.hash:
        if ours.corpus.sources == theirs.corpus.sources:
            yield (
                f"{theirs.corpus.windows} windows of {theirs.corpus.documents} documents, where "
                f"{name} has {ours.corpus.windows} of {ours.corpus.documents} of the same corpus"
            )
        else:
            yield f"another corpus than {name}: differences may come from the texts"
    elif _drawn(ours) != _drawn(theirs):
        yield (
            f"{sample_sentence(theirs.corpus)}, where {name} has "
            f"{sample_sentence(ours.corpus)}: another sample of the same corpus"
        )
    if ours.model.tokenizer_hash != theirs.model.tokenizer_hash:
        yield f"another tokenizer than {name}: distances and repetitions count other tokens"
    if ours.packages["headscope"] != theirs.packages["headscope"]:
        yield (
            f"measured by headscope {theirs.packages['headscope']}, "
            f"{name} by {ours.packages['headscope']}"
        )


def _drawn(manifest: Manifest) -> tuple[object, ...]:
    """What decides which documents of a corpus are in a run, beside the tokenizer."""
    corpus = manifest.corpus
    seed = manifest.settings.seed if corpus.sample == "random" else None
    return corpus.sample, seed, None if corpus.sample == "all" else corpus.texts_asked
