"""`headscope analyze`: measure every head of a model over a corpus."""

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.option_groups import HelpWhenBuilt, OptionGroup
from headscope.cli.options import (
    DEFAULTS,
    OUTPUT_PANEL,
    Json,
    Layers,
    ModelOptions,
    PairOptions,
    Quiet,
    layer_numbers,
)
from headscope.cli.tables import Column, print_table
from headscope.kernels.cpu.compile_ahead import compile_ahead
from headscope.settings import (
    NULL_SEEDS,
    NULL_WINDOWS,
    SAMPLE_WINDOWS,
    similarity_variant,
)
from headscope.system.timing import stage_times

if TYPE_CHECKING:
    from headscope.run import Run


def _corpus_help() -> str:
    from headscope.text.readers import file_endings

    return (
        f"[b]demo[/b], a file ({' '.join(file_endings())}, also .gz), a folder, - for standard "
        "input, or hf:NAME. May be given several times."
    )


CORPUS_HELP = HelpWhenBuilt(_corpus_help)


@dataclass(frozen=True)
class CorpusOptions(OptionGroup, panel="Corpus"):
    """What is read, and how it is cut into windows."""

    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", "-c", metavar="FILE|DIR|-"),
        CORPUS_HELP,
    ] = None
    texts: Annotated[
        int | None,
        typer.Option(
            "--texts",
            "-n",
            help="Maximum number of windows, drawn at random over the whole corpus (default: all).",
        ),
    ] = None
    first: Annotated[
        bool, typer.Option("--first", help="Take the first windows instead; read no further.")
    ] = False
    seed: Annotated[
        int, typer.Option(help="Seed of everything random, such as which windows are drawn.")
    ] = DEFAULTS.seed
    keep_duplicates: Annotated[
        bool,
        typer.Option(
            "--keep-duplicates", help="Count copies of a document as documents of their own."
        ),
    ] = DEFAULTS.keep_duplicates
    window: Annotated[
        int, typer.Option(help="Maximum number of tokens in a window, special tokens included.")
    ] = DEFAULTS.window_tokens
    min_tokens: Annotated[
        int, typer.Option(help="Leave out windows with fewer tokens than this.")
    ] = DEFAULTS.min_tokens
    text_column: Annotated[str, typer.Option(help="Tables: column that holds the text.")] = "text"
    id_column: Annotated[
        str | None, typer.Option(help="Tables: column that names the document.")
    ] = None
    label_column: Annotated[
        str | None, typer.Option(help="Tables: column that names the domain.")
    ] = None


@dataclass(frozen=True)
class MeasuringOptions(PairOptions):
    """What is measured."""

    layers: Layers = None
    minimal: Annotated[
        bool,
        typer.Option(
            "--minimal",
            help="Measure only this similarity and these thresholds: no sweep, no permutations, no "
            "profiles by distance.",
        ),
    ] = DEFAULTS.minimal
    nulls: Annotated[
        int,
        typer.Option(
            help="Number of windows that each untrained model reads, as the null (0: none)."
        ),
    ] = NULL_WINDOWS
    null_seeds: Annotated[
        int, typer.Option(help="Number of untrained models, with random weights of as many seeds.")
    ] = NULL_SEEDS
    robustness: Annotated[
        int | None,
        typer.Option(
            help="Number of windows that are measured under every analysis choice, to judge "
            f"verdicts by all of them (default: {SAMPLE_WINDOWS}; 0: none)."
        ),
    ] = None
    signal: Annotated[
        bool | None,
        typer.Option(
            "--signal/--no-signal",
            help="Measure signal, noise and what heads write, on the same windows (default: "
            "unless --minimal).",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class OutputOptions(OptionGroup, panel=OUTPUT_PANEL):
    """What is written, and what is printed."""

    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Run folder (default: one in runs/). An unfinished run there is resumed.",
        ),
    ] = None
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Whether to write report.html.")
    ] = True
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append a line of JSON for each event to this file."),
    ] = None
    profile: Annotated[
        bool, typer.Option("--profile", help="Print the time taken by each stage at the end.")
    ] = False
    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True)
class WorkerOptions(OptionGroup, panel="Workers"):
    """Who measures, and in which portions."""

    workers: Annotated[
        int | None,
        typer.Option(
            help="Number of worker processes (with --on ray: actors) that share the cores."
        ),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option(help="Threads per worker (default: the cores, shared out evenly)."),
    ] = None
    batch_tokens: Annotated[
        int, typer.Option(help="Number of tokens that go through the model at once.")
    ] = DEFAULTS.batch_tokens
    shard_windows: Annotated[
        int, typer.Option(help="Number of windows in a shard, the unit of work of a worker.")
    ] = DEFAULTS.shard_windows
    on: Annotated[
        str, typer.Option(help="local, or ray: a Ray cluster, or Ray started on this machine.")
    ] = "local"
    address: Annotated[
        str | None, typer.Option(help="Ray: address of the cluster, auto or HOST:PORT.")
    ] = None
    gpus_per_worker: Annotated[
        float, typer.Option(help="Ray: GPUs reserved for each worker, such as 1 or 0.5.")
    ] = 0.0
    via: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Ray: fsspec storage (s3://...) for workers that do not see the run folder.",
        ),
    ] = None


def analyze_command(
    corpus: CorpusOptions,
    model: ModelOptions,
    measuring: MeasuringOptions,
    output: OutputOptions,
    workers: WorkerOptions,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CORPUS]...",
            help="The same as --corpus.",
            show_default=False,
            rich_help_panel="Corpus",
        ),
    ] = None,
) -> None:
    """Measure what every head of a model writes, over a corpus.

    Without options: the demo model over the demo corpus, into runs/demo.
    """
    from headscope.cli.finished_run import finished_run
    from headscope.measuring.workers.plan import place
    from headscope.text.in_memory import Sources

    options: dict[str, Any] = {}
    for group in (corpus, model, measuring, workers):
        options |= group.keywords()
    options |= {
        "corpus": Sources([*(sources or []), *(corpus.corpus or [])] or ["demo"]),
        "layers": layer_numbers(measuring.layers),
        "similarity": similarity_variant(measuring.similarity),
        "on": place(workers.on),
    }
    finished = None if output.log else finished_run(options, report=output.report, out=output.out)
    if finished is not None:
        if not output.quiet:
            sys.stderr.write(f"{finished.folder} is finished: there is nothing to measure\n")
        return _print_run(finished, output)
    # Before torch is imported: that takes about as long.
    compile_ahead(corpus.window)
    from headscope.analyze import analyze

    stack = ExitStack()
    times = stack.enter_context(stage_times()) if output.profile else None
    try:
        run = analyze(
            **options,
            out=output.out,
            report=output.report,
            log=output.log,
            progress=not output.quiet,
        )
    except KeyboardInterrupt:
        sys.stderr.write(
            "headscope: interrupted; finished shards are kept: "
            "run the same command again to resume\n"
        )
        raise typer.Exit(130) from None
    finally:
        stack.close()
    if times is not None:
        sys.stderr.write(f"seconds of all threads, by stage\n{times}\n")
    _print_run(run, output)


def _print_run(run: "Run", output: OutputOptions) -> None:
    if output.as_json:
        _print_json(run)
    else:
        _print_findings(run, output)


def _print_json(run: "Run") -> None:
    from headscope.runs.corpus_summary import sample_json

    facts = {
        "run": str(run.folder),
        "texts": run.manifest.corpus.windows,
        "left_out": len(run.left_out),
        "corpus": sample_json(run.manifest.corpus, run.files.labels()),
        "layers": json.loads(run.layers.to_json(orient="records")),
    }
    typer.echo(json.dumps(facts))


def _print_findings(run: "Run", output: OutputOptions) -> None:
    from headscope.findings.findings_table import finding_columns, finding_rows
    from headscope.measures.tables import layer_table
    from headscope.runs.corpus_summary import labels_sentence
    from headscope.runs.left_out import count_kinds

    corpus, name = run.manifest.corpus, run.manifest.model.name
    for stack, dataset in run.stacks.items():
        print_table(
            [Column(column.title, number=True) for column in finding_columns()],
            finding_rows(layer_table(dataset)),
            title=f"{name}, {stack}: {corpus.windows:,} windows of {', '.join(corpus.sources)}",
            caption="expected: the same share among all pairs of the window at the same distances",
            gap=0,
            narrow=True,  # fits into a terminal of 80 columns
        )
    if labels := run.files.labels():
        typer.echo(f"labels  {labels_sentence(labels)}")
    if left_out := run.left_out:
        typer.echo(
            f"left out {count_kinds(left_out)} windows; headscope info {run.folder} lists them"
        )
    if not output.quiet:
        typer.echo(f"run     {run.folder}")
        if output.report:
            typer.echo(f"report  {run.folder / 'report.html'}")
