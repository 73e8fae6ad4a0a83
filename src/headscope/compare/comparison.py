"""Runs side by side over relative depth, with intervals and differences to the first of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from headscope.compare.quantities import QUANTITIES
from headscope.compare.remarks import remarks
from headscope.compare.rows import Row, comparison_rows, label_runs, reference_of
from headscope.compare.signal_rows import signal_rows
from headscope.compare.training import NO_TRAINING, QUANTITIES_OF_TRAINING, follow_training
from headscope.compare.training_points import points_asked
from headscope.errors import RunError, SettingsError, option
from headscope.findings.depth import layers_by_third, relative_depth
from headscope.findings.resampling.resampled_run import interval_of
from headscope.findings.roles import assign_roles
from headscope.pages.figures.compare import compare_figure
from headscope.pages.figures.compare_steps import compare_steps_figure
from headscope.pages.side_by_side import model_columns, side_by_side_page
from headscope.run import Run, open_run
from headscope.runs.files import write_whole

MIN_DOCUMENTS = 20
"""With fewer documents, bootstrap intervals are too narrow; the claims have the same minimum."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The same quantities of several runs, as tables.

    Each table has the columns run, stack, seeds (0, or the number of untrained models pooled) and
    name (all of that in words). For the quantities see `headscope.compare.quantities`.
    """

    thirds: pd.DataFrame
    """Pooled over the first, middle and last third of the layers: value, low, high; reference (the
    name of the row that it is compared with), difference, difference_low, difference_high, and
    shared_documents, the number of documents that both were measured on."""
    curves: pd.DataFrame
    """The same quantities at every layer: layer, depth (layer / layers), value, low, high."""
    roles: pd.DataFrame
    """The number of heads with each role: role, heads, share."""
    claims: pd.DataFrame
    """The verdict on each claim of the paper: claim, status, effect, low, high, documents, summary;
    choices, choices_hold and choices_fail, the number of analysis choices that it was tried under,
    and of those under which it holds or fails."""
    signal: pd.DataFrame
    """Signal, noise and writes: third, measure, value (the mean over heads; NaN where a run has
    none). They rest on a sample of each run's windows and have no interval here."""
    remarks: tuple[str, ...]
    """How the runs differ other than in the model, and what limits the comparison."""
    steps: tuple[int, ...] | None
    """The training step of each run, in the order of the runs; None when not asked for."""
    training: pd.DataFrame
    """The numbers over training steps, pooled over trainings that differ in their seed: stack,
    quantity, part (a third of the layers, or all), step, trainings (their number), documents,
    value, low, high. Empty without steps. See `headscope.compare.training`."""
    fastest: pd.DataFrame
    """Of each of these numbers, the two neighbouring steps between which it changes fastest per
    decade of steps: from_step, to_step, change with low and high, per_decade; share, of the
    bootstrap samples how many agree; and whether that is clear."""
    runs: Mapping[str, Run] = field(default_factory=dict, repr=False)
    """The runs, by the names that tables and figures have for them."""

    def figure(self) -> Figure:
        """The quantities over relative depth; over training steps where there are steps."""
        if self.steps is None:
            titles = {one.name: f"{one.title}\n({one.unit})" for one in QUANTITIES}
            return compare_figure(self.curves, titles)
        titles = {one.name: f"{one.title}\n({one.unit})" for one in QUANTITIES_OF_TRAINING}
        return compare_steps_figure(self.training, self.fastest, titles)

    def save(self, path: str | Path) -> Path:
        """The path of the page of the comparison, which is written: one file, works offline.

        It shows the curves and, of each model, its role map, its verdicts and its most striking
        heads.

        Args:
            path: Where to write it, such as `models.html`.
        """
        page = side_by_side_page(
            model_columns({name: run.findings for name, run in self.runs.items()}),
            self.figure(),
            self.remarks,
        )
        write_whole(Path(path), page.encode())
        return Path(path)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON values; null where there is no number."""
        tables = {
            "thirds": self.thirds,
            "curves": self.curves,
            "roles": self.roles,
            "claims": self.claims,
            "signal": self.signal,
            "training": self.training,
            "fastest": self.fastest,
        }
        return {
            **{
                name: json.loads(table.to_json(orient="records", double_precision=12))
                for name, table in tables.items()
            },
            "remarks": list(self.remarks),
            "steps": None if self.steps is None else list(self.steps),
        }


def compare(
    runs: Sequence[Run | str | Path],
    *,
    untrained: bool = False,
    steps: bool | Sequence[int] = False,
    trainings: Sequence[int] | None = None,
    seed: int = 0,
) -> Comparison:
    """The runs side by side, each stack of a model by itself.

    Intervals come from a bootstrap over documents, which draws the same documents for all runs
    that share them (see `headscope.compare.shared_documents`).

    Args:
        runs: Two or more, opened or by folder; one is enough with `untrained`. The first is the
            one that the others are compared with.
        untrained: Whether each run is also compared with its untrained models.
        steps: For checkpoints of one training, or of several that differ in their seed: the step
            of each run, or True to read steps, and seeds, from the names of the folders.
        trainings: With `steps`, the training that each run belongs to, such as its seed. Without
            it, the first run of each step is of the first training, and so on.
        seed: Of the bootstrap.
    """
    opened = [run if isinstance(run, Run) else open_run(run) for run in runs]
    _refuse(opened, untrained)
    found: list[str] = []
    points = points_asked(opened, steps, trainings, found)
    # Models at step 0 are untrained: they are the null for the roles of the others.
    beginnings = [run for run, point in zip(opened, points or (), strict=False) if not point.step]
    labels = label_runs(opened)
    rows = comparison_rows(labels, untrained=untrained, seed=seed, lens=points is not None)
    if all(reference_of(row, rows) is None for row in rows):
        raise SettingsError(
            f"{opened[0].folder} has no untrained model to compare with; analyze it with "
            f"{option('nulls', 20)}, or give two runs"
        )
    found += [
        f"{row.name}: {len(row.documents.present)} documents are too few to draw from; its "
        "intervals are too narrow"
        for row in rows
        if len(row.documents.present) < MIN_DOCUMENTS
    ]
    if untrained:
        found += [
            f"{label}: no untrained model; analyze it with --nulls"
            for label, run in labels.items()
            if not run.untrained
        ]
    training = NO_TRAINING
    if points is not None:
        of_run = dict(zip(labels, points, strict=True))
        training = follow_training(rows, of_run, beginnings, seed)
        found += training.remarks
    return Comparison(
        thirds=pd.DataFrame([record for row in rows for record in _thirds(row, rows)]),
        curves=pd.DataFrame([record for row in rows for record in _curve(row)]),
        roles=pd.concat(
            [_roles(row, beginnings) for row in rows if not row.seeds], ignore_index=True
        ),
        claims=_claims(rows, seed),
        signal=signal_rows(rows),
        remarks=(*remarks(labels), *found),
        steps=None if points is None else tuple(point.step for point in points),
        training=training.values,
        fastest=training.fastest,
        runs=labels,
    )


def _refuse(runs: Sequence[Run], untrained: bool) -> None:
    if not runs or (len(runs) == 1 and not untrained):
        raise SettingsError(
            f"compare: give two runs or more, or one with {option('untrained', True)}"
        )
    for run in runs:
        if not run.finished:
            raise RunError(f"{run.folder} is not finished; run the same analyze command again")


def _identity(row: Row) -> dict[str, Any]:
    return {"run": row.label, "stack": row.stack, "seeds": row.seeds, "name": row.name}


def _thirds(row: Row, rows: Sequence[Row]) -> list[dict[str, Any]]:
    reference = reference_of(row, rows)
    thirds = _layers_by_third(row)
    records = []
    for quantity, (third, layers) in product(QUANTITIES, thirds.items()):
        samples = quantity.samples(row.resampled, layers)
        documents = len(row.documents.present)
        found = interval_of(samples, documents)
        record = _identity(row) | {
            "third": third,
            "quantity": quantity.name,
            "value": found.value,
            "low": found.low,
            "high": found.high,
        }
        if reference is not None:
            other = quantity.samples(reference.resampled, _layers_by_third(reference)[third])
            # Sample by sample: what both have in common cancels.
            shared = min(documents, len(reference.documents.present))
            difference = interval_of(samples - other, shared)
            record |= {
                "reference": reference.name,
                "shared_documents": row.documents.shared(reference.documents),
                "difference": difference.value,
                "difference_low": difference.low,
                "difference_high": difference.high,
            }
        records.append(record)
    return records


def _layers_by_third(row: Row) -> dict[str, list[int]]:
    layers = row.resampled.layers
    places = layers_by_third(layers, row.deepest)
    return {third: [layers[place] for place in here] for third, here in places.items()}


def _curve(row: Row) -> list[dict[str, Any]]:
    records = []
    for quantity, layer in product(QUANTITIES, row.resampled.layers):
        samples = quantity.samples(row.resampled, [layer])
        found = interval_of(samples, len(row.documents.present))
        records.append(
            _identity(row)
            | {
                "layer": layer,
                "depth": relative_depth(layer, row.deepest),
                "quantity": quantity.name,
                "value": found.value,
                "low": found.low,
                "high": found.high,
            }
        )
    return records


def _roles(row: Row, beginnings: Sequence[Run]) -> pd.DataFrame:
    if not beginnings or row.run.untrained:
        roles = row.run.roles
    else:
        roles = assign_roles(row.run.heads, [run.heads for run in beginnings])
    counts = roles.loc[roles["stack"] == row.stack, "role"].value_counts()
    table = counts.rename_axis("role").reset_index(name="heads")
    return table.assign(**_identity(row), share=table["heads"] / counts.sum())


def _claims(rows: Sequence[Row], seed: int) -> pd.DataFrame:
    verdicts = {row.label: row.run.claims(seed) for row in rows if not row.seeds}
    return pd.DataFrame(
        _identity(row)
        | {
            "claim": verdict.name,
            "status": verdict.status,
            "effect": verdict.effect.value if verdict.effect else None,
            "low": verdict.effect.low if verdict.effect else None,
            "high": verdict.effect.high if verdict.effect else None,
            "documents": verdict.documents,
            "choices": len(verdict.robustness.choices) if verdict.robustness else 0,
            "choices_hold": verdict.robustness.count("holds") if verdict.robustness else 0,
            "choices_fail": verdict.robustness.count("fails") if verdict.robustness else 0,
            "summary": verdict.summary,
        }
        for row in rows
        if not row.seeds
        for verdict in verdicts[row.label]
        if verdict.stack == row.stack
    )
