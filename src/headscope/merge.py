"""Several runs made into one: parts of one run, or runs over different texts."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pyarrow.compute as pc

from headscope.errors import MergeError, RunError
from headscope.measuring.reduce import reduce_run
from headscope.run import Run
from headscope.runs.examples import has_examples, read_examples, write_examples
from headscope.runs.files import write_whole
from headscope.runs.folder import RunFolder
from headscope.runs.lock import only_writer
from headscope.runs.manifest import SCHEMA, CorpusRecord, differences
from headscope.runs.parquet_files import refuse_unreadable
from headscope.runs.shards import Shard
from headscope.runs.window_files import window_file


def merge(folders: Sequence[str | Path], out: str | Path, *, report: bool = True) -> Run:
    """The run that holds the shards of all of `folders`, written to `out`, with its page.

    Runs must agree in model, settings and versions. Runs over the same windows are parts of one
    run: each shard is taken from whichever has it. Runs over different texts are put one after
    the other, and must be finished.
    """
    if len(folders) < 2:
        raise MergeError("merge needs two runs or more; one run is what it is already")
    runs = [RunFolder.open(Path(folder)) for folder in folders]
    for one, other in combinations(runs, 2):
        _refuse_if_different(one, other)
    target = Path(out)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise MergeError(f"{target} is there already; choose another --out")
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
    for run in runs:
        if run.shards_done < run.manifest.shards:
            raise MergeError(
                f"{run.path} has {run.shards_done} of {run.manifest.shards} shards; "
                "finish it with analyze first"
            )
    holder: dict[bytes, RunFolder] = {}
    for run in runs:
        texts = _texts_of(run)
        for text in texts:
            if text in holder:
                raise MergeError(
                    f"{holder[text].path} and {run.path} hold the same texts, which would "
                    "count twice; merge runs over different texts"
                )
        holder |= dict.fromkeys(texts, run)
    return [(run, number) for run in runs for number in range(run.manifest.shards)]


def _texts_of(run: RunFolder) -> set[bytes]:
    """A digest of each window of a run: its document, its place there, and its tokens."""
    with refuse_unreadable(f"a table of {run.path}"):
        columns = run.windows().to_table(columns=["document", "starts", "token_ids"])
        return {
            hashlib.sha256(repr(tuple(row.values())).encode()).digest()
            for batch in columns.to_batches()
            for row in batch.to_pylist()
        }


def _write(plan: _Plan, runs: Sequence[RunFolder], parts_of_one: bool, target: Path) -> RunFolder:
    manifest = replace(runs[0].manifest, schema=SCHEMA)
    if not parts_of_one:
        manifest = replace(manifest, corpus=_joined([run.manifest.corpus for run in runs]))
    merged = RunFolder(target, manifest)
    first_window = 0
    for number, (run, number_there) in enumerate(plan):
        windows = run.path / window_file(number_there)
        write_whole(target / window_file(number), _bytes_of(windows))
        first_there = sum(run.manifest.corpus.shard_texts[:number_there])
        shard = _renumbered(run.shards.read(number_there), first_there, first_window)
        merged.shards.write(number, shard)
        first_window += manifest.corpus.shard_texts[number]
    if has_examples(runs[0].path):
        # The texts of the first run keep their numbers.
        write_examples(target, read_examples(runs[0].path))
    # The manifest comes last: a merge that was cut short leaves no folder that looks like a run.
    manifest.write(target)
    reduce_run(merged)
    return merged


def _renumbered(shard: Shard, first_there: int, first_window: int) -> Shard:
    """The shard with its texts, numbered from `first_there`, numbered from `first_window`."""
    if first_there == first_window:
        return shard
    moved = first_window - first_there
    at = shard.rows.column_names.index("text")
    return Shard(
        rows=shard.rows.set_column(at, "text", pc.add(shard.rows["text"], moved)),
        arrays=shard.arrays,
        left_out=tuple(replace(text, text=text.text + moved) for text in shard.left_out),
    )


def _joined(corpora: Sequence[CorpusRecord]) -> CorpusRecord:
    return replace(
        corpora[0],
        sources=tuple(source for corpus in corpora for source in corpus.sources),
        documents=sum(corpus.documents for corpus in corpora),
        hash=hashlib.sha256("".join(corpus.hash for corpus in corpora).encode()).hexdigest(),
        windows=sum(corpus.windows for corpus in corpora),
        window_hashes=tuple(h for corpus in corpora for h in corpus.window_hashes),
        shard_texts=tuple(n for corpus in corpora for n in corpus.shard_texts),
        texts_asked=None,
    )


def _refuse_if_different(one: RunFolder, other: RunFolder) -> None:
    if different := differences(one.manifest, other.manifest, corpus=False):
        raise MergeError(
            f"cannot merge {one.path} and {other.path}: they differ in {'; '.join(different)}; "
            "merge only runs made with the same model and settings"
        )


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}; analyse that run again") from error
