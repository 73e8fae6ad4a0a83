"""Merging runs: parts of one run, or runs over different windows."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pyarrow.compute as pc

from headscope.errors import MergeError, RunError, option
from headscope.measuring.reduce import reduce_run
from headscope.run import Run
from headscope.runs.examples import has_examples, read_examples, write_examples
from headscope.runs.files import read_bytes, write_whole
from headscope.runs.folder import RunFolder
from headscope.runs.lock import only_writer
from headscope.runs.manifest import CorpusRecord, differences
from headscope.runs.parquet_files import refuse_unreadable
from headscope.runs.records import SampleKind
from headscope.runs.shards import Shard
from headscope.runs.window_files import window_file


def merge(folders: Sequence[str | Path], out: str | Path, *, report: bool = True) -> Run:
    """The run that holds the shards of several runs.

    Runs must have the same model, settings and versions. Runs over the same windows are parts of
    one run: each shard is taken from the first that has it. Runs over different windows are put one
    after the other, and must be finished.

    Args:
        folders: The run folders, at least two.
        out: The folder of the merged run: new, or empty.
        report: Whether to write report.html.
    """
    if len(folders) < 2:
        raise MergeError("merge needs at least two runs")
    runs = [RunFolder.open(Path(folder)) for folder in folders]
    for one, other in combinations(runs, 2):
        _refuse_if_different(one, other)
    target = Path(out)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise MergeError(f"{target} is there already; choose another {option('out')}")
    parts_of_one = len({run.manifest.corpus.window_hashes for run in runs}) == 1
    plan = _union(runs) if parts_of_one else _concatenation(runs)
    with only_writer(target):
        written = _write(plan, runs, parts_of_one, target)
        merged = Run(written.path, written.manifest)
        if report:
            merged.report()
        return merged


_Plan = list[tuple[RunFolder, int]]
"""For each shard of the merged run, the run it comes from and its number there."""


def _union(runs: Sequence[RunFolder]) -> _Plan:
    """Each shard from the first run that has it."""
    plan: _Plan = []
    for number in range(runs[0].manifest.shards):
        having = [run for run in runs if run.shards.is_whole(number)]
        if not having:
            raise MergeError(
                f"shard {number} is in none of the runs; finish one of them with analyze first"
            )
        plan.append((having[0], number))
    return plan


def _concatenation(runs: Sequence[RunFolder]) -> _Plan:
    """All shards of all runs, in order; no window may be in two of them."""
    for run in runs:
        if run.shards_done < run.manifest.shards:
            raise MergeError(
                f"{run.path} has {run.shards_done} of {run.manifest.shards} shards; "
                "finish it with analyze first"
            )
    holder: dict[bytes, RunFolder] = {}
    for run in runs:
        windows = _window_digests(run)
        for window in windows:
            if window in holder:
                raise MergeError(
                    f"{holder[window].path} and {run.path} hold the same windows, which would "
                    "count twice; merge runs over different windows"
                )
        holder |= dict.fromkeys(windows, run)
    return [(run, number) for run in runs for number in range(run.manifest.shards)]


def _window_digests(run: RunFolder) -> set[bytes]:
    """A digest of each window of a run: of its document, its place there, and its tokens."""
    with refuse_unreadable(f"a table of {run.path}"):
        columns = run.windows().to_table(columns=["document", "starts", "token_ids"])
        return {
            hashlib.sha256(repr(tuple(row.values())).encode()).digest()
            for batch in columns.to_batches()
            for row in batch.to_pylist()
        }


def _write(plan: _Plan, runs: Sequence[RunFolder], parts_of_one: bool, target: Path) -> RunFolder:
    # The shards stay as they are, columns of an older version included.
    manifest = replace(runs[0].manifest, schema=max(run.manifest.schema for run in runs))
    if not parts_of_one:
        manifest = replace(manifest, corpus=_joined([run.manifest.corpus for run in runs]))
    merged = RunFolder(target, manifest)
    first_window = 0
    for number, (run, number_there) in enumerate(plan):
        windows = run.path / window_file(number_there)
        run.read_windows(number_there)  # refused here if they are not what they should be
        content = _bytes_of(windows, run.path)
        write_whole(target / window_file(number), content, within=target)
        first_there = sum(run.manifest.corpus.shard_texts[:number_there])
        shard = _renumbered(run.read_shard(number_there), first_there, first_window)
        merged.shards.write(number, shard)
        first_window += manifest.corpus.shard_texts[number]
    if has_examples(runs[0].path):
        # The windows of the first run keep their numbers, so its examples still fit.
        write_examples(target, read_examples(runs[0].path, runs[0].manifest))
    # The manifest comes last, so that an interrupted merge leaves nothing that looks like a run.
    manifest.write(target)
    reduce_run(merged)
    return merged


def _renumbered(shard: Shard, first_there: int, first_window: int) -> Shard:
    """The shard with its windows numbered from `first_window` instead of `first_there`."""
    if first_there == first_window:
        return shard
    moved = first_window - first_there
    at = shard.rows.column_names.index("text")
    return Shard(
        rows=shard.rows.set_column(at, "text", pc.add(shard.rows["text"], moved)),
        arrays=shard.arrays,
        left_out=tuple(replace(window, text=window.text + moved) for window in shard.left_out),
    )


def _joined(corpora: Sequence[CorpusRecord]) -> CorpusRecord:
    """The corpora one after the other."""
    return replace(
        corpora[0],
        sources=tuple(source for corpus in corpora for source in corpus.sources),
        documents=sum(corpus.documents for corpus in corpora),
        hash=hashlib.sha256("".join(corpus.hash for corpus in corpora).encode()).hexdigest(),
        windows=sum(corpus.windows for corpus in corpora),
        window_hashes=tuple(h for corpus in corpora for h in corpus.window_hashes),
        shard_texts=tuple(n for corpus in corpora for n in corpus.shard_texts),
        texts_asked=None,
        sample=_joined_kind([corpus.sample for corpus in corpora]),
        windows_available=_sum([corpus.windows_available for corpus in corpora]),
        documents_sampled=_sum([corpus.documents_sampled for corpus in corpora]),
        # Copies of one run's documents in another are not counted here; resampling finds them.
        duplicates=_sum([corpus.duplicates for corpus in corpora]),
        duplicates_sampled=_sum([corpus.duplicates_sampled for corpus in corpora]),
    )


def _joined_kind(kinds: Sequence[SampleKind | None]) -> SampleKind | None:
    """What can be said of all: a sample where one of them is a sample."""
    if None in kinds:
        return None
    return "random" if "random" in kinds else "first" if "first" in kinds else "all"


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _refuse_if_different(one: RunFolder, other: RunFolder) -> None:
    different = differences(one.manifest, other.manifest, corpus=False)
    versions = one.manifest.columns_version, other.manifest.columns_version
    if versions[0] != versions[1]:
        different.append(f"run format: version {versions[0]} / {versions[1]}")
    if different:
        raise MergeError(
            f"cannot merge {one.path} and {other.path}: they differ in {'; '.join(different)}; "
            "merge only runs made with the same model and settings"
        )


def _bytes_of(path: Path, within: Path) -> bytes:
    try:
        return read_bytes(path, within=within)
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}; analyse that run again") from error
