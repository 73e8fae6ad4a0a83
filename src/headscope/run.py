"""A run: the folder that people keep, share and query."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import pandas as pd
import pyarrow.dataset as ds
import xarray as xr
from matplotlib.figure import Figure

from headscope.claims import Evidence, Verdict
from headscope.claims.evidence import COLUMNS
from headscope.claims.judge import evidence_of, judge
from headscope.claims.sanity import sanity_signs
from headscope.errors import MeasurementError, RunError, SettingsError, in_one_line
from headscope.figures.catalogue import StackFindings, draw_figure, draw_figures
from headscope.figures.source import Source
from headscope.figures.write import FORMATS, WrittenFigures, write_figures
from headscope.measures.tables import add_measures, head_table, layer_table
from headscope.report import Report
from headscope.report.example_texts import example_texts
from headscope.report.focal_counts import focal_counts
from headscope.report.page import REPORT_FIGURES, RunReport, StackReport, report_page
from headscope.resampling.text_table import TextTable, read_text_table
from headscope.roles import assign_roles
from headscope.runs.checked_tables import open_checked, refuse_unreadable
from headscope.runs.columns import KEY_COLUMNS, column_type
from headscope.runs.examples import read_examples
from headscope.runs.files import write_whole
from headscope.runs.left_out import LeftOut
from headscope.runs.manifest import Manifest
from headscope.runs.reduce import reduce_shards
from headscope.runs.results import read_results, write_results
from headscope.runs.shards import ShardStore
from headscope.stability import Domain, StabilityResult, stability
from headscope.sweep import sweep_table
from headscope.text.window_store import WINDOW_SCHEMA


class Run:
    """The results of an analysis, read from its folder when they are asked for."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.shards = ShardStore(folder / "shards")

    def __repr__(self) -> str:
        return (
            f"Run({str(self.folder)!r}: {self.manifest.model.name}, "
            f"{self.manifest.corpus.windows} texts, {self.shards_done} of "
            f"{self.manifest.shards} shards)"
        )

    @property
    def shards_done(self) -> int:
        """Shards that are written."""
        return sum(self.shards.is_written(number) for number in range(self.manifest.shards))

    @property
    def finished(self) -> bool:
        """Whether the results are there."""
        return (self.folder / "results.nc").is_file()

    @property
    def left_out(self) -> list[LeftOut]:
        """The texts that could not be measured, and why; they are in none of the numbers."""
        written = filter(self.shards.is_written, range(self.manifest.shards))
        return [text for number in written for text in self.shards.left_out(number)]

    @cached_property
    def stacks(self) -> dict[str, xr.Dataset]:
        """The reduced arrays of each attention stack."""
        return {stack: read_results(self.folder, stack) for stack in self.manifest.stacks}

    @property
    def arrays(self) -> xr.Dataset:
        """Measures, totals and summed arrays, labelled: dims layer, head, position, distance.

        A model with several stacks (encoder, decoder, cross) has a leading dim `stack`; layers
        and heads that a stack does not have are NaN.
        """
        if len(self.stacks) == 1:
            return next(iter(self.stacks.values()))
        return xr.concat(
            list(self.stacks.values()),
            dim=pd.Index(list(self.stacks), name="stack"),
            join="outer",
            combine_attrs="drop_conflicts",
        )

    @cached_property
    def heads(self) -> pd.DataFrame:
        """A row per stack, layer and head, a column per measure."""
        return self._table(head_table)

    @cached_property
    def layers(self) -> pd.DataFrame:
        """A row per stack and layer: the measures pooled over its heads."""
        return self._table(layer_table)

    @cached_property
    def untrained(self) -> list["Run"]:
        """The runs of the untrained model over some of the same texts, one for each seed."""
        return [open_run(path.parent) for path in sorted(self.folder.glob("nulls/*/manifest.json"))]

    @cached_property
    def roles(self) -> pd.DataFrame:
        """The role of every head, with the evidence: stack, layer, head, role, evidence."""
        return self._roles_of(self.heads)

    def evidence(self, seed: int = 0) -> dict[str, Evidence]:
        """What claims are judged on, for each stack: the run and its nulls, resampled."""
        return {
            stack: evidence_of(
                stack,
                self.text_table(stack, COLUMNS),
                [null.text_table(stack, COLUMNS) for null in self.untrained],
                dataset,
                seed,
            )
            for stack, dataset in self.stacks.items()
        }

    def claims(self, seed: int = 0) -> list[Verdict]:
        """The verdict on each claim of the paper, for each stack."""
        return [verdict for evidence in self.evidence(seed).values() for verdict in judge(evidence)]

    def text_table(self, stack: str, columns: Sequence[str]) -> TextTable:
        """Columns of the rows as arrays of text, layer and head."""
        with refuse_unreadable(f"a table of {self.folder}"):
            return read_text_table(self.manifest, self.rows(), self.windows(), stack, columns)

    def rows(self) -> ds.Dataset:
        """A row per text, stack, layer and head, as an Arrow dataset that reads what it needs."""
        files = self.shards.row_files(self.manifest.corpus.shard_texts)
        if not files:
            raise RunError(f"{self.folder} has no measured text yet; run analyze again")
        return open_checked(
            files,
            required=KEY_COLUMNS,
            type_of=column_type,
            advice="run the same analyze command again to do it anew",
        )

    def windows(self) -> ds.Dataset:
        """A row per text: its tokens, their offsets and sentences, as an Arrow dataset."""
        # By number: a first attempt that was killed may have left more files than this run has.
        files = {
            self.folder / "windows" / f"{number:05d}.parquet": expected
            for number, expected in enumerate(self.manifest.corpus.window_hashes)
        }
        types = dict(zip(WINDOW_SCHEMA.names, WINDOW_SCHEMA.types, strict=True))
        windows = open_checked(
            files,
            required=tuple(types),
            type_of=types.get,
            advice="run the same analyze command again to cut the texts anew",
        )
        with refuse_unreadable(f"a table of {self.folder}"):
            texts = windows.count_rows()
        if texts != self.manifest.corpus.windows:
            raise RunError(
                f"{self.folder} has {texts} texts, its manifest says "
                f"{self.manifest.corpus.windows}; take a whole copy of the run"
            )
        return windows

    def sweep(self, *, per: Literal["layer", "head"] = "layer") -> pd.DataFrame:
        """How the measures move with pair rule and attention threshold: a row per threshold.

        Columns `stack`, `layer`, `axis` (pair_rule or attention_threshold), `threshold`, and the
        measures that depend on it, pooled over the heads of a layer; `per="head"` keeps them apart.
        """
        return sweep_table(self.stacks, per=per)

    def stability(
        self,
        *,
        subset: int = 5000,
        subsets: int | None = None,
        by: Domain = "label",
        splits: int = 100,
        seed: int = 0,
    ) -> StabilityResult:
        """Whether heads measure the same, and keep their roles, over other texts.

        Over random disjoint subsets of about `subset` texts (as many as there are; two halves of a
        smaller run), over domains (labels or documents), and over `splits` random halves. Documents
        stay whole. It reads the rows of the run; the model is not needed.
        """
        if self.shards_done < self.manifest.shards:
            raise RunError(
                f"{self.folder} is not finished; run the same analyze command again to finish it"
            )
        with refuse_unreadable(f"a table of {self.folder}"):
            return stability(
                self.rows(),
                self.windows(),
                subset=subset,
                subsets=subsets,
                by=by,
                splits=splits,
                seed=seed,
                roles_of=self._roles_of,
            )

    def reduce(self) -> None:
        """Add up the shards and write results.nc."""
        left_out = self.left_out
        if len(left_out) == self.manifest.corpus.windows:
            raise MeasurementError(
                f"no text of the run can be measured ({left_out[0]}); try --dtype float32, a "
                "shorter --window, or another model"
            )
        shards = (self.shards.read(number) for number in range(self.manifest.shards))
        try:
            results = reduce_shards(self.manifest, shards)
        # Checksums fit, but names or shapes are not those of this manifest.
        except (LookupError, ValueError) as error:
            raise RunError(
                f"the shards of {self.folder} do not fit its manifest: {in_one_line(error)}; "
                "analyse the corpus again with another --out"
            ) from error
        write_results(
            self.folder, {stack: add_measures(dataset) for stack, dataset in results.items()}
        )

    def report(self, path: str | Path | None = None) -> Report:
        """The report, written to `report.html` in the run folder unless a path is named.

        It shows itself in notebooks; `report.path` is the file.
        """
        target = Path(path) if path is not None else self.folder / "report.html"
        stacks = [
            StackReport(
                name=stack,
                results=dataset,
                layers=layer_table(dataset),
                heads=self.heads[self.heads["stack"] == stack],
                roles=self.roles[self.roles["stack"] == stack],
                verdicts=judge(evidence),
                signs=[sign for sign in sanity_signs(evidence) if sign.seen],
                figures=draw_figures(REPORT_FIGURES, self._findings(stack)),
            )
            for (stack, dataset), evidence in zip(
                self.stacks.items(), self.evidence().values(), strict=True
            )
        ]
        with refuse_unreadable(f"a table of {self.folder}"):
            focal = focal_counts(self.rows(), self.windows())
            examples = example_texts(read_examples(self.folder), self.windows())
        page = report_page(
            RunReport(
                manifest=self.manifest,
                stacks=stacks,
                focal=focal,
                examples=examples,
                stability=self.stability(),
                left_out=self.left_out,
            )
        )
        write_whole(target, page.encode())
        return Report(target)

    def figure(self, name: str, stack: str | None = None) -> Figure:
        """One figure, by its name in `headscope.figures.catalogue`: `run.figure("summed")`."""
        if stack is None and len(self.manifest.stacks) > 1:
            raise SettingsError(
                f"figure: the model has several stacks ({', '.join(self.manifest.stacks)}); "
                f"name one, as in run.figure({name!r}, stack={self.manifest.stacks[0]!r})"
            )
        return draw_figure(name, self._findings(stack or self.manifest.stacks[0]))

    def figures(
        self,
        folder: str | Path | None = None,
        *,
        formats: Sequence[str] = FORMATS,
        only: Sequence[str] = (),
        stack: str | None = None,
    ) -> WrittenFigures:
        """The files of the figures, written into `figures/` of the run folder unless named."""
        chosen = self.manifest.stacks if stack is None else (stack,)
        return write_figures(
            {name: self._findings(name) for name in chosen},
            Path(folder) if folder is not None else self.folder / "figures",
            formats=formats,
            only=only,
            suffixed=len(self.manifest.stacks) > 1,
        )

    def _findings(self, stack: str) -> StackFindings:
        if stack not in self.manifest.stacks:
            raise SettingsError(
                f"stack: {stack!r} is unknown; this run has {', '.join(self.manifest.stacks)}"
            )
        return StackFindings(
            self.stacks[stack],
            Source.of(self.manifest, stack),
            self.roles[self.roles["stack"] == stack],
        )

    def _roles_of(self, heads: pd.DataFrame) -> pd.DataFrame:
        nulls = [run.heads for run in self.untrained]
        return assign_roles(heads, pd.concat(nulls, ignore_index=True) if nulls else None)

    def _table(self, table: Callable[[xr.Dataset], pd.DataFrame]) -> pd.DataFrame:
        parts = [table(dataset).assign(stack=stack) for stack, dataset in self.stacks.items()]
        whole = pd.concat(parts, ignore_index=True)
        return whole[["stack", *whole.columns.drop("stack")]]


def open_run(folder: str | Path) -> Run:
    """The run in a folder."""
    path = Path(folder)
    if not path.is_dir():
        raise RunError(f"no run at {path}: there is no such folder; make one with analyze")
    return Run(path, Manifest.read(path))
