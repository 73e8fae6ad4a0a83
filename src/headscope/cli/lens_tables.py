"""The tables that `headscope lens` prints."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from headscope.cli.study_output import range_cell, value_cell
from headscope.cli.tables import Column, cell, print_table

if TYPE_CHECKING:
    from headscope.findings.lens.heads import HeadEffects, HeadLens
    from headscope.findings.resampling.bootstrap import Interval
    from headscope.lens.result import Lens

SHOWN = 20
"""Number of heads that are printed."""


def print_words(result: "Lens") -> None:
    """The table of a probe of parts of speech.

    Args:
        result: Of that probe.
    """
    rows = [
        [str(layer.layer), value_cell(told, ".3f"), range_cell(told, ".3f")]
        for layer in result.layers
        for told in [layer.readings["probe"]["part_of_speech"]]
    ]
    print_table(
        [Column(title, number=True) for title in ("layer", "part of speech", "95 % interval")],
        rows,
        title=f"{result.model}: {result.positions:,} words in {result.windows:,} windows of "
        f"{result.corpus}, {result.documents:,} documents",
        caption="share of words whose part of speech a linear probe tells, fitted on other "
        "documents; layer 0: what the first layer reads",
    )
    assert result.usual_part is not None
    typer.echo(f"the most frequent part of speech alone  {value_cell(result.usual_part, '.3f')}")


def print_trees(result: "Lens", linear: Mapping[str, "Interval"]) -> None:
    """The table of a probe of distances in dependency trees.

    Args:
        result: Of that probe.
        linear: What the distance in the text tells by itself.
    """
    scores = {str(layer.layer): layer.readings["probe"] for layer in result.layers}
    rows: list[list[str] | None] = [
        [
            name,
            *(
                text
                for score in ("tree_distance", "tree_edges")
                for text in (value_cell(found[score], ".3f"), range_cell(found[score], ".3f"))
            ),
        ]
        for name, found in {**scores, "order": linear}.items()
    ]
    titles = ["layer", "distance", "95 % interval", "edges", "95 % interval"]
    print_table(
        [Column(title, number=True) for title in titles],
        rows,
        title=f"{result.model}: {result.positions:,} words in {result.windows:,} windows of "
        f"{result.corpus}, {result.documents:,} documents",
        caption="distance: rank correlation of distances under a linear probe, fitted on other "
        "documents, with those in the dependency tree; edges: share of the edges of the tree that "
        "are in the smallest spanning tree; layer 0: what the first layer reads; order: the "
        "distance in the text, without a model",
    )


def print_layers(result: "Lens") -> None:
    """A table for the lens, and one for the probe, if there is one.

    Args:
        result: Of a model that predicts tokens.
    """
    there = result.layers[0].readings
    for kind in ("lens", "probe"):
        if kind in there:
            _print_scores(result, [name for name in there if name.partition("_")[0] == kind])
    if result.by_frequency:
        last = ", ".join(
            f"{one.name}: {cell(one.accuracy[-1].value, '.3f')} ({one.types:,})"
            for one in result.by_frequency
        )
        typer.echo(f"by type in the last layer, by occurrences (types)  {last}")


def _print_scores(result: "Lens", readings: list[str]) -> None:
    several = len(readings) > 1
    rows: list[list[str] | None] = []
    for reading in readings:
        if rows:
            rows.append(None)
        for layer in result.layers:
            scores = layer.readings[reading]
            rows.append(
                [
                    *([reading.partition("_")[2] or "masked"] if several else []),
                    str(layer.layer),
                    value_cell(scores["entropy"], ".2f"),
                    value_cell(scores["cross_entropy"], ".2f"),
                    range_cell(scores["cross_entropy"], ".2f"),
                    value_cell(scores["accuracy"], ".3f"),
                    value_cell(scores["token_type_accuracy"], ".3f"),
                    value_cell(scores["rank"], ".1f"),
                    value_cell(scores["kl"], ".2f"),
                ]
            )
    titles = ["layer", "entropy", "loss", "95 % interval", "accuracy", "by type", "rank", "KL"]
    print_table(
        [
            *([Column("tokens")] if several else []),
            *(Column(title, number=True) for title in titles),
        ],
        rows,
        title=f"{readings[0]}, {result.model}: {result.positions:,} positions in "
        f"{result.windows:,} windows of {result.corpus}, {result.documents:,} documents",
        caption="entropy, loss and KL to the last layer in nats; by type: accuracy with every "
        "token type counted alike; rank: geometric mean; layer 0: what the first layer reads",
        narrow=True,
    )


def print_heads(result: "Lens", effects: "HeadEffects") -> None:
    """A table of the heads without which the guesses of their layers change most, by reading.

    Args:
        result: Of a model that predicts tokens.
        effects: Of its heads.
    """
    for reading, reliability in effects.reliability.items():
        _print_ranked(result, effects, reading)
        repeats = cell(reliability["kl"], ".2f")
        typer.echo(f"reliability of the ranking by KL, {reading.replace('_', ', ')}  {repeats}")


def _print_ranked(result: "Lens", effects: "HeadEffects", reading: str) -> None:
    def kl(head: "HeadLens") -> float:
        value = head.readings[reading]["kl"].value
        return value if value == value else float("-inf")

    rows: list[list[str] | None] = []
    for head in sorted(effects.heads, key=kl, reverse=True)[:SHOWN]:
        found = head.readings[reading]
        rows.append(
            [
                head.stack,
                str(head.layer),
                f"{head.head}{'*' if head.matters[reading] else ''}",
                value_cell(found["kl"]),
                value_cell(found["loss_increase"]),
                range_cell(found["loss_increase"]),
                value_cell(found["entropy_increase"]),
            ]
        )
    matter = sum(head.matters[reading] for head in effects.heads)
    titles = ["layer", "head", "KL", "loss increase", "95 % interval", "entropy increase"]
    print_table(
        [Column("stack"), *(Column(title, number=True) for title in titles)],
        rows,
        title=f"{reading.replace('_', ', ')}: what a layer's guess loses without a head, "
        f"{len(rows)} of {len(effects.heads)} heads of {result.model}",
        caption=f"nats per position, at the head's own layer; * the loss increases: {matter} of "
        f"{len(effects.heads)} heads, at a false discovery rate of 5 %",
        narrow=True,
    )
