"""Numbers over the steps of a training, pooled over trainings, and where each changes fastest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float64

from headscope.compare.quantities import QUANTITIES
from headscope.compare.rows import Row
from headscope.compare.run_lens import COUNT
from headscope.compare.training_points import TrainingPoint, complete
from headscope.errors import SettingsError
from headscope.findings.depth import PARTS, layers_in
from headscope.findings.learning import FastestChange, fastest_change, pool_trainings
from headscope.findings.resampling.bootstrap import expansion
from headscope.findings.resampling.resampled_run import Samples, interval_of, resample_columns
from headscope.findings.role_samples import ROLE_COLUMNS, role_counts
from headscope.findings.roles import ROLES, bars_of
from headscope.findings.signal import read_run_signal, signal_samples
from headscope.measures.signal import SIGNAL_MEASURES
from headscope.run import Run

ALL = "all"
"""The part of the layers that a number of the whole stack is of."""
SIGNAL_TO_NOISE = ("dependency_snr", "sentence_snr")


@dataclass(frozen=True, slots=True)
class TrainingQuantity:
    """What is followed over steps."""

    name: str
    title: str
    unit: str
    parts: tuple[str, ...] = PARTS
    """The thirds of the layers, or `all`."""


QUANTITIES_OF_TRAINING: tuple[TrainingQuantity, ...] = (
    TrainingQuantity("loss", "loss", "nats per token", (ALL,)),
    TrainingQuantity("lens_entropy", "entropy of the layers' guesses", "nats"),
    *(TrainingQuantity(one.name, one.title, one.unit) for one in QUANTITIES),
    *(
        TrainingQuantity(name, SIGNAL_MEASURES[name].title, SIGNAL_MEASURES[name].unit)
        for name in SIGNAL_TO_NOISE
    ),
    *(
        TrainingQuantity(f"role_{role.name}", f"heads: {role.words}", "number of heads", (ALL,))
        for role in ROLES
    ),
)
"""In the order of tables and figures."""
VALUES = ("stack", "quantity", "part", "step", "trainings", "documents", "value", "low", "high")
FASTEST = (
    *("stack", "quantity", "part", "from_step", "to_step", "change", "low", "high"),
    *("per_decade", "share", "clear"),
)


@dataclass(frozen=True, eq=False)
class Training:
    """Numbers over steps; for the columns see `Comparison.training` and `Comparison.fastest`."""

    values: pd.DataFrame
    fastest: pd.DataFrame
    remarks: tuple[str, ...] = ()


NO_TRAINING = Training(pd.DataFrame(columns=list(VALUES)), pd.DataFrame(columns=list(FASTEST)))
"""Of runs that are not checkpoints."""


def follow_training(
    rows: Sequence[Row], points: Mapping[str, TrainingPoint], beginnings: Sequence[Run], seed: int
) -> Training:
    """The quantities over steps, each at every step, with intervals, and where it changes fastest.

    Args:
        rows: Of the comparison.
        points: The step and training of each run, by its label.
        beginnings: The runs of step 0, which decide the bars of roles for runs without untrained
            models.
        seed: Of the bootstrap.
    """
    kept = complete(list(points.values()))
    if not kept:
        raise SettingsError(
            "steps: no training has a run of every step; leave out the steps that are missing in "
            "all of them"
        )
    steps = sorted({point.step for point in points.values()})
    trained = [row for row in rows if not row.seeds]
    by_stack: dict[str, dict[TrainingPoint, Row]] = {}
    for row in trained:
        by_stack.setdefault(row.stack, {})[points[row.label]] = row
    values, fastest = [], []
    for stack, there in by_stack.items():
        wanted = [[there.get(TrainingPoint(step, one)) for step in steps] for one in kept]
        samples = {
            id(row): _samples_of(row, beginnings, seed) for of in wanted for row in of if row
        }
        known = {key for of_row in samples.values() for key in of_row}
        for quantity in QUANTITIES_OF_TRAINING:
            for part in quantity.parts:
                if (quantity.name, part) not in known:
                    continue
                key = {"stack": stack, "quantity": quantity.name, "part": part}
                series = [
                    [samples[id(row)].get((quantity.name, part)) if row else None for row in of]
                    for of in wanted
                ]
                pooled, units = _pooled(series, seed)
                if not np.nan_to_num(pooled[:, 0]).any():
                    continue  # a role that no head has
                for step, at_step in zip(steps, pooled, strict=True):
                    found = interval_of(at_step, units)
                    values.append(
                        key
                        | {"step": step, "trainings": len(kept), "documents": units}
                        | {"value": found.value, "low": found.low, "high": found.high}
                    )
                change = fastest_change(pooled, steps, units)
                if change is not None:
                    fastest.append(key | _plain(change))
    return Training(
        pd.DataFrame(values, columns=list(VALUES)),
        pd.DataFrame(fastest, columns=list(FASTEST)),
        tuple(_remarks(trained, points, kept)),
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Series:
    """A quantity of one run."""

    samples: Samples
    units: int
    """Number of documents, or groups of them, that were drawn from."""


def _pooled(
    series: Sequence[Sequence[_Series | None]], seed: int
) -> tuple[Float64[np.ndarray, "step sample"], int]:
    """A quantity over steps, and on how many documents it rests; NaN where a training lacks it."""
    there = [one for of_training in series for one in of_training if one is not None]
    units = min(one.units for one in there)
    absent = np.full_like(there[0].samples, np.nan)
    stacked = np.array(
        [[absent if one is None else one.samples for one in of_training] for of_training in series]
    )
    expanded = expansion(units) if units > 1 else 1.0
    return pool_trainings(stacked, expanded=expanded, seed=seed), units


def _samples_of(row: Row, beginnings: Sequence[Run], seed: int) -> dict[tuple[str, str], _Series]:
    """Every quantity of a stack of a run that is known, by name and part of the layers."""
    found = {}
    for name, part, samples, units in (
        *_of_lens(row, seed),
        *_of_measures(row),
        *_of_signal(row, seed),
        *_of_roles(row, beginnings, seed),
    ):
        if np.isfinite(samples[0]):
            found[name, part] = _Series(samples, units)
    return found


_Found = Iterator[tuple[str, str, Samples, int]]


def _of_measures(row: Row) -> _Found:
    for quantity in QUANTITIES:
        for part in PARTS:
            layers = layers_in(part, row.resampled.layers, row.deepest)
            samples = quantity.samples(row.resampled, layers)
            yield quantity.name, part, samples, len(row.documents.present)


def _of_lens(row: Row, seed: int) -> _Found:
    if row.lens is None or row.lens_documents is None:
        return
    place = row.lens_documents
    columns = row.lens.by_document(place.of_window, place.size)
    resampled = resample_columns(columns, row.lens.layers, seed + place.group)
    units = len(set(place.of_window[row.lens.windows].tolist()))

    def mean(score: str, layers: Sequence[int]) -> Samples:
        with np.errstate(invalid="ignore", divide="ignore"):
            quotient: Samples = resampled.summed(score, layers) / resampled.summed(COUNT, layers)
        return quotient

    if row.deepest in row.lens.layers:
        yield "loss", ALL, mean("cross_entropy", [row.deepest]), units
    for part in PARTS:
        # Layer 0, what the first layer reads, belongs to no third.
        layers = layers_in(part, [layer for layer in row.lens.layers if layer], row.deepest)
        yield "lens_entropy", part, mean("entropy", layers), units


def _of_signal(row: Row, seed: int) -> _Found:
    signal = read_run_signal(row.run.files)
    if signal is None:
        return
    for name in SIGNAL_TO_NOISE:
        found = signal_samples(row.run.files, signal, row.stack, SIGNAL_MEASURES[name], seed)
        for part in PARTS:
            layers = layers_in(part, sorted(set(found.layers.tolist())), row.deepest)
            heads = np.isin(found.layers, layers) & np.isfinite(found.samples[0])
            if heads.any():
                yield name, part, found.samples[:, heads].mean(axis=1), found.groups


def _of_roles(row: Row, beginnings: Sequence[Run], seed: int) -> _Found:
    table = row.run.findings.window_table(row.stack, ROLE_COLUMNS)
    documents = row.documents
    columns = {}
    for name, values in table.columns.items():
        summed = np.zeros((documents.size, *values.shape[1:]))
        np.add.at(summed, documents.of_window, np.nan_to_num(values))
        summed[:, np.isnan(values).all(axis=0)] = np.nan
        columns[name] = summed
    resampled = resample_columns(columns, table.layers, seed + documents.group)
    heads = row.run.heads[row.run.heads["stack"] == row.stack]
    untrained = row.run.untrained or beginnings
    bars = bars_of([run.heads[run.heads["stack"] == row.stack] for run in untrained])
    for role, counts in role_counts(resampled, heads, bars).items():
        yield f"role_{role}", ALL, counts, len(documents.present)


def _plain(change: FastestChange) -> dict[str, float | int | bool]:
    return {
        "from_step": change.start,
        "to_step": change.end,
        "change": change.change.value,
        "low": change.change.low,
        "high": change.change.high,
        "per_decade": change.per_decade,
        "share": change.share,
        "clear": change.clear,
    }


def _remarks(
    rows: Sequence[Row], points: Mapping[str, TrainingPoint], kept: Sequence[int]
) -> Iterator[str]:
    if len({point.step for point in points.values()}) < 2:
        yield "all runs are of one step: there is no change to look for"
    dropped = sorted({point.training for point in points.values()} - set(kept))
    if dropped:
        yield (
            f"trainings {', '.join(map(str, dropped))} have no run of some steps, and are not in "
            "the numbers over steps"
        )
    bare = sorted({row.label for row in rows} - {row.label for row in rows if row.lens})
    if bare:
        yield (
            f"{', '.join(bare)}: no lens study in the folder, so no loss and no entropy; make it "
            "with headscope lens, --out RUN/lens"
        )
