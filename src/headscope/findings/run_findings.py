"""What is found in a run: tables, roles, claims, stability, each computed when it is asked for.

`headscope.run.Run` is the same for people; pages and comparisons take `RunFindings`.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal

import pandas as pd
import xarray as xr

from headscope.errors import RunError
from headscope.findings.claims import StackEvidence, judge
from headscope.findings.claims.verdicts import Verdicts
from headscope.findings.gather_evidence import gather_evidence
from headscope.findings.lens.head_table import value_columns
from headscope.findings.lens.in_run import LensInRun, lens_of_run
from headscope.findings.reach.read import reach_of_run
from headscope.findings.reach.result import ReachResult
from headscope.findings.resampling.window_table import WindowTable, read_window_table
from headscope.findings.roles import assign_roles
from headscope.findings.signal import (
    cka_table,
    read_run_signal,
    signal_table,
    with_signal,
    with_signal_means,
)
from headscope.findings.stability import Domain, StabilityResult, stability
from headscope.findings.sweep import sweep_table
from headscope.measures.tables import head_table, layer_table
from headscope.runs.folder import RunFolder
from headscope.runs.results import read_results
from headscope.runs.signal_files import SignalSums


class RunFindings:
    """The tables, roles and verdicts of a run."""

    def __init__(self, folder: RunFolder) -> None:
        """Look into a run; nothing is read yet.

        Args:
            folder: The files of the run.
        """
        self.folder = folder
        self.manifest = folder.manifest

    @cached_property
    def stacks(self) -> dict[str, xr.Dataset]:
        """The reduced arrays of each attention stack."""
        return {
            stack: read_results(self.folder.path, self.manifest, stack, self.folder.within)
            for stack in self.manifest.stacks
        }

    @property
    def arrays(self) -> xr.Dataset:
        """The arrays of all stacks; several stacks make a leading dim `stack`."""
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
        table = with_signal(self._table(head_table), self.signal)
        keys = ["stack", "layer", "head"]
        if self.reach is not None and self.reach.retrieval is not None:
            table = table.merge(self.reach.retrieval_strengths, "left", keys)
        if self.lens is not None and self.lens.heads is not None:
            found = self.lens.heads
            table = table.merge(found[[*keys, *value_columns(found)]], "left", keys)
        return table

    @cached_property
    def layers(self) -> pd.DataFrame:
        """A row per stack and layer: the measures pooled over its heads."""
        return with_signal_means(self._table(layer_table), self.signal)

    @cached_property
    def _signal_sums(self) -> SignalSums | None:
        return read_run_signal(self.folder)

    @cached_property
    def signal(self) -> pd.DataFrame:
        """A row per stack, layer and head: signal, noise and writes, with intervals."""
        return signal_table(self.folder, self._signal_sums)

    @cached_property
    def redundancy(self) -> dict[str, pd.DataFrame]:
        """By stack, debiased CKA between all its heads; empty in a run without signal."""
        tables = {
            stack: cka_table(self.folder, self._signal_sums, stack)
            for stack in self.manifest.stacks
        }
        return {stack: table for stack, table in tables.items() if table is not None}

    @cached_property
    def reach(self) -> ReachResult | None:
        """What the reach study in the run folder found; None if there is none."""
        return reach_of_run(self.folder)

    @cached_property
    def lens(self) -> LensInRun | None:
        """What the lens study in the run folder found; None if there is none."""
        return lens_of_run(self.folder)

    @cached_property
    def untrained(self) -> list["RunFindings"]:
        """The findings of the untrained model over some of the same windows, one for each seed."""
        return [RunFindings(null) for null in self.folder.nulls]

    @cached_property
    def roles(self) -> pd.DataFrame:
        """The role of every head: stack, layer, head, role, others (weaker traits), evidence."""
        return self.roles_of(self.heads)

    def roles_of(self, heads: pd.DataFrame) -> pd.DataFrame:
        """The roles of the heads in a table like `heads`, against the untrained model."""
        return assign_roles(heads, [null.heads for null in self.untrained])

    def evidence(self, seed: int = 0) -> dict[str, StackEvidence]:
        """What claims are judged on, for each stack: the run and its nulls, resampled together."""
        return gather_evidence(self, seed)

    def claims(self, seed: int = 0) -> Verdicts:
        """The verdict on each claim of the paper, for each stack."""
        return Verdicts(
            verdict for evidence in self.evidence(seed).values() for verdict in judge(evidence)
        )

    def window_table(self, stack: str, columns: Sequence[str]) -> WindowTable:
        """Columns of the rows as arrays of window, layer and head."""
        folder = self.folder
        with folder.refusing_unreadable():
            return read_window_table(self.manifest, folder.rows(), folder.windows(), stack, columns)

    def sweep(self, *, per: Literal["layer", "head"] = "layer") -> pd.DataFrame:
        """How the measures move with pair rule and attention threshold: a row per threshold."""
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
        """Whether heads measure the same, and keep their roles, over other windows."""
        if self.folder.shards_done < self.manifest.shards:
            raise RunError(
                f"{self.folder.path} is not finished; run the same analyze command again to "
                "finish it"
            )
        with self.folder.refusing_unreadable():
            return stability(
                self.folder.rows(),
                self.folder.windows(),
                subset=subset,
                subsets=subsets,
                by=by,
                splits=splits,
                seed=seed,
                roles_of=self.roles_of,
            )

    def _table(self, table: Callable[[xr.Dataset], pd.DataFrame]) -> pd.DataFrame:
        parts = [table(dataset).assign(stack=stack) for stack, dataset in self.stacks.items()]
        whole = pd.concat(parts, ignore_index=True)
        return whole[["stack", *whole.columns.drop("stack")]]
