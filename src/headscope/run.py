"""A run: the folder that people keep, share and query.

Everything is read when it is asked for, by code that is imported then, so that opening a run is
quick: this module imports neither pandas nor matplotlib. The files are those of
`headscope.runs.folder.RunFolder`, the answers those of `headscope.findings.run_findings`.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from headscope.errors import RunError, SettingsError, in_a_command, option
from headscope.runs.folder import REPORT, RunFolder
from headscope.runs.manifest import Manifest
from headscope.runs.own_files import refuse_links_inside
from headscope.runs.remote import fetch_run, remote_address
from headscope.settings import SUBSET_WINDOWS

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.dataset as ds
    import xarray as xr
    from matplotlib.figure import Figure

    from headscope.findings.claims import StackEvidence
    from headscope.findings.claims.verdicts import Verdicts
    from headscope.findings.run_findings import RunFindings
    from headscope.findings.stability import Domain, StabilityResult
    from headscope.pages.figures.write import WrittenFigures
    from headscope.pages.report import Report
    from headscope.runs.left_out import LeftOut
    from headscope.runs.shards import ShardStore


class Run:
    """The results of an analysis.

    run = hs.open_run("RUN")
    run.heads                   # a table: a row per layer and head, a column per measure
    run.claims()                # the verdict on each claim of the paper
    run.figure("summed")        # one of the figures
    run.report()                # all of it on one page
    """

    def __init__(self, folder: Path, manifest: Manifest, within: Path | None = None) -> None:
        """Describe a run; `open_run` opens one that exists.

        Args:
            folder: The run folder.
            manifest: What the run is.
            within: The run folder that it lies in, for the run of an untrained model.
        """
        self.files = RunFolder(folder, manifest, within)
        self.address: str | None = None
        """Where the run was fetched from; None for a folder of this machine."""
        self._copy: TemporaryDirectory[str] | None = None

    @cached_property
    def findings(self) -> "RunFindings":
        """What is found in the run, as pages and comparisons of runs take it."""
        from headscope.findings.run_findings import RunFindings

        return RunFindings(self.files)

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.files.path

    @property
    def manifest(self) -> Manifest:
        """What the run is: model, corpus, settings and versions."""
        return self.files.manifest

    def __repr__(self) -> str:
        return (
            f"Run({self.address or str(self.folder)!r}: {self.manifest.model.name}, "
            f"{self.manifest.corpus.windows} windows, {self.shards_done} of "
            f"{self.manifest.shards} shards)"
        )

    @property
    def shards(self) -> "ShardStore":
        """The numbered pieces of the result."""
        return self.files.shards

    @property
    def shards_done(self) -> int:
        """Number of shards that are written."""
        return self.files.shards_done

    @property
    def finished(self) -> bool:
        """Whether the run has its results."""
        return self.files.finished

    @property
    def left_out(self) -> "list[LeftOut]":
        """The windows that could not be measured, and why; they are in none of the numbers."""
        return self.files.left_out

    def rows(self) -> "ds.Dataset":
        """A row per window, stack, layer and head, as an Arrow dataset."""
        return self.files.rows()

    def windows(self) -> "ds.Dataset":
        """A row per window: its tokens, their offsets and sentences, as an Arrow dataset."""
        return self.files.windows()

    @property
    def stacks(self) -> "dict[str, xr.Dataset]":
        """The reduced arrays of each attention stack."""
        return self.findings.stacks

    @property
    def arrays(self) -> "xr.Dataset":
        """Measures, totals and summed arrays, labelled: dims layer, head, position, distance.

        A model with several stacks (encoder, decoder, cross) has a leading dim `stack`; layers
        and heads that a stack does not have are NaN.
        """
        return self.findings.arrays

    @property
    def heads(self) -> "pd.DataFrame":
        """A row per stack, layer and head, a column per measure."""
        return self.findings.heads

    @property
    def layers(self) -> "pd.DataFrame":
        """A row per stack and layer: the measures pooled over its heads."""
        return self.findings.layers

    @property
    def signal(self) -> "pd.DataFrame":
        """A row per stack, layer and head: signal to noise, what heads write, with intervals.

        They rest on a sample of the windows; `NAME_low` and `NAME_high` bound 95 %.
        """
        return self.findings.signal

    @property
    def redundancy(self) -> "dict[str, pd.DataFrame]":
        """By stack, debiased CKA between all its heads. It is no order for pruning."""
        return self.findings.redundancy

    @cached_property
    def untrained(self) -> list["Run"]:
        """The runs of the untrained model over some of the same windows, one for each seed."""
        return [Run(null.path, null.manifest, null.within) for null in self.files.nulls]

    @property
    def roles(self) -> "pd.DataFrame":
        """The role of every head: stack, layer, head, role, others (weaker traits), evidence."""
        return self.findings.roles

    def evidence(self, seed: int = 0) -> "dict[str, StackEvidence]":
        """What claims are judged on, for each stack: the run and its nulls, resampled.

        Args:
            seed: Seed of the resampling.
        """
        return self.findings.evidence(seed)

    def claims(self, seed: int = 0) -> "Verdicts":
        """The verdict on each claim of the paper, for each stack: a list that prints as a table.

        Args:
            seed: Seed of the resampling.
        """
        return self.findings.claims(seed)

    def sweep(self, *, per: Literal["layer", "head"] = "layer") -> "pd.DataFrame":
        """How the measures move with pair rule and attention threshold: a row per threshold.

        The columns are `stack`, `layer`, `axis` (pair_rule or attention_threshold), `threshold`,
        and the measures that depend on it.

        Args:
            per: `layer` pools the heads of a layer, `head` keeps them apart.
        """
        return self.findings.sweep(per=per)

    def stability(
        self,
        *,
        subset: int = SUBSET_WINDOWS,
        subsets: int | None = None,
        by: "Domain" = "label",
        splits: int = 100,
        seed: int = 0,
    ) -> "StabilityResult":
        """Whether heads measure the same, and keep their roles, over other windows.

        Documents stay whole. Only the rows of the run are read; the model is not needed.

        Args:
            subset: Number of windows in a random subset. A run with fewer windows than two such
                subsets need is cut into two halves.
            subsets: Number of disjoint subsets; as many as fit, at most 20, if None.
            by: What a domain is: the `label` of a window, or its `document`.
            splits: Number of random splits into halves on which reliability is measured.
            seed: Seed of the random subsets and halves.
        """
        return self.findings.stability(
            subset=subset, subsets=subsets, by=by, splits=splits, seed=seed
        )

    def report(self, path: str | Path | None = None) -> "Report":
        """Write the report, which shows itself in notebooks; `report.path` is the file.

        Args:
            path: Where to write it; `report.html` in the run folder, if None.
        """
        from headscope.pages.report import write_report

        if path is not None:
            return write_report(self.findings, Path(path))
        self._refuse_remote("report")
        refuse_links_inside(self.files.within)
        return write_report(self.findings, self.folder / REPORT, within=self.files.within)

    def export(self, folder: str | Path, *, to: str = "csv") -> dict[str, Path]:
        """Write the tables of the run for other programs; returns the files by table.

        Args:
            folder: Where to: `heads.csv`, `layers.csv`, `roles.csv`, `claims.csv`, `sweep.csv` and
                `rows.csv` (a row per window, layer and head).
            to: `csv` or `parquet`.
        """
        from headscope.findings.export import export_tables

        return export_tables(self.findings, Path(folder), to)

    def _refuse_remote(self, what: str) -> None:
        """Refuse to write into a run that was fetched: it would be lost with the copy."""
        if self.address is not None:
            raise RunError(
                f"{self.address} can only be read; say where to write the {what}, with "
                f"{option('out') if in_a_command() else 'a path'}"
            )

    def figure(self, name: str, stack: str | None = None) -> "Figure":
        """One figure, as a matplotlib figure: `run.figure("summed")`.

        Args:
            name: One of `headscope.pages.figures.FIGURES`.
            stack: The attention stack, if the model has several.
        """
        from headscope.pages.figures import StackFindings, draw_figure

        stacks = self.manifest.stacks
        if stack is None and len(stacks) > 1:
            raise SettingsError(
                f"figure: the model has several stacks ({', '.join(stacks)}); "
                f"name one, as in run.figure({name!r}, stack={stacks[0]!r})"
            )
        return draw_figure(name, StackFindings.of(self.findings, stack or stacks[0]))

    def figures(
        self,
        folder: str | Path | None = None,
        *,
        formats: Sequence[str] | None = None,
        only: Sequence[str] = (),
        stack: str | None = None,
    ) -> "WrittenFigures":
        """Write figures: their files, and the figures that the run has nothing to show in.

        Args:
            folder: Where to write them; `figures/` in the run folder, if None.
            formats: Some of png, svg and pdf; all of them, if None.
            only: Names of figures; all of them, if empty.
            stack: Only this attention stack; all of them, if None.
        """
        from headscope.pages.figures import StackFindings
        from headscope.pages.figures.write import FORMATS, write_figures

        if folder is None:
            self._refuse_remote("figures")
            refuse_links_inside(self.files.within)
        stacks = self.manifest.stacks
        chosen = stacks if stack is None else (stack,)
        return write_figures(
            {name: StackFindings.of(self.findings, name) for name in chosen},
            Path(folder) if folder is not None else self.folder / "figures",
            formats=FORMATS if formats is None else formats,
            only=only,
            suffixed=len(stacks) > 1,
            within=self.files.within if folder is None else None,
        )


def open_run(folder: str | Path) -> Run:
    """The run in a folder, or at an address.

    Args:
        folder: A folder that `analyze` or `merge` wrote, or the address of one that fsspec knows
            (`s3://bucket/run`, `hf://datasets/owner/name/run`, `https://...`), which is fetched
            and can only be read.
    """
    address = remote_address(folder)
    if address is None:
        files = RunFolder.open(Path(folder))
        return Run(files.path, files.manifest)
    copy = fetch_run(address)
    files = RunFolder.open(Path(copy.name))
    run = Run(files.path, files.manifest)
    run.address, run._copy = address, copy
    return run
