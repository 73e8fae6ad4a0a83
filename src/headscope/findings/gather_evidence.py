"""The evidence of a run, read from its files: rows, untrained models, and the sample of both."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope.findings.claims.evidence import Evidence
from headscope.findings.claims.gather import SampledRun, StackEvidence, permutation_p
from headscope.findings.claims.independent_choice import WindowTokens, window_tokens
from headscope.findings.claims.verdict import Choice
from headscope.findings.resampling.bootstrap import draw_documents
from headscope.findings.resampling.documents import document_numbers
from headscope.findings.resampling.resampled_run import resample_part
from headscope.measures import measured_columns
from headscope.runs.choice_files import ChoiceTables, read_choices
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import Manifest
from headscope.text.kinds import SPECIAL_KINDS

if TYPE_CHECKING:
    from headscope.findings.run_findings import RunFindings


def gather_evidence(run: "RunFindings", seed: int) -> dict[str, StackEvidence]:
    """What claims are judged on, for each stack of a run.

    Documents are numbered alike in the run and in its untrained models, and drawn once for all:
    what they have in common cancels in their differences.

    Args:
        run: The findings of the run.
        seed: Of the draws.
    """
    folder, nulls = run.folder, run.untrained
    with folder.refusing_unreadable():
        documents, *null_documents = document_numbers(
            *(of.folder.windows() for of in (run, *nulls))
        )
    draws = draw_documents(int(documents.max()) + 1, seed)
    tables = read_choices(folder.path, run.manifest, within=folder.within)
    sampled = None if tables is None else SampledRun(tables, documents[tables.windows])
    null_tables = [
        read_choices(null.folder.path, null.manifest, within=null.folder.within) for null in nulls
    ]
    sampled_nulls = [
        SampledRun(table, of[table.windows])
        for table, of in zip(null_tables, null_documents, strict=True)
        if table is not None
    ]
    tokens = None if sampled is None else _tokens(folder, sampled)
    settings = run.manifest.settings
    evidence = {}
    for stack, results in run.stacks.items():
        columns = [name for name in measured_columns() if f"total_{name}" in results]
        own = Evidence(
            stack=stack,
            run=resample_part(run.window_table(stack, columns).numbered(documents), draws),
            untrained=tuple(
                resample_part(null.window_table(stack, columns).numbered(of), draws)
                for null, of in zip(nulls, null_documents, strict=True)
            ),
            deepest=run.manifest.layers_of(stack),
            permutation_p=partial(permutation_p, results),
        )
        evidence[stack] = StackEvidence(
            own=own,
            own_choice=Choice(pairs=str(settings.pairs), similarity=settings.similarity),
            draws=draws,
            grid=_grid(run.manifest, stack),
            trained=sampled,
            untrained=sampled_nulls,
            tokens=tokens,
        )
    return evidence


def _grid(manifest: Manifest, stack: str) -> NDArray[np.int64]:
    """Layer and head, counted from 0, of every head of a stack."""
    sites = [site for site in manifest.model.sites if site.stack == stack]
    return np.array(
        [(layer, head) for layer, site in enumerate(sites) for head in range(site.heads)]
    )


def _tokens(folder: RunFolder, sample: SampledRun) -> WindowTokens:
    windows = _windows_of(folder, sample.tables)
    return window_tokens(windows, sample.document)


def _windows_of(folder: RunFolder, tables: ChoiceTables) -> list[NDArray[np.int32]]:
    """The tokens of the windows of a sample, special ones left out."""
    with folder.refusing_unreadable():
        table = folder.windows().to_table(columns=["token_ids", "kinds"]).take(tables.windows)
    found = []
    for ids, kinds in zip(table["token_ids"], table["kinds"], strict=True):
        special = np.isin(kinds.values.to_numpy(), SPECIAL_KINDS)
        found.append(ids.values.to_numpy()[~special])
    return found
