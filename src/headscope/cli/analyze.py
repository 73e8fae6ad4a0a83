"""`headscope analyze`: measure every head of a model over a corpus."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import (
    AllowPickle,
    Device,
    Dtype,
    Json,
    ModelOption,
    Quiet,
    TrustRemoteCode,
)
from headscope.errors import SettingsError
from headscope.kernels.cpu.compile_ahead import compile_ahead
from headscope.runs.left_out import count_kinds
from headscope.settings import similarity_variant
from headscope.system.timing import stage_times


def analyze_command(
    model: ModelOption = "demo",
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            "-c",
            metavar="FILE|DIR|-",
            help="[b]demo[/b], a file (.txt .md .jsonl .csv .tsv .parquet .conllu, also .gz), a "
            "folder, - for standard input, or hf:NAME. May be given several times.",
        ),
    ] = None,
    texts: Annotated[
        int | None, typer.Option("--texts", "-n", help="At most so many windows; all by default.")
    ] = None,
    window: Annotated[int, typer.Option(help="Tokens of a window, special tokens included.")] = 128,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Run folder. An unfinished run there is resumed."),
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help="Only these layers, from 1, such as 1,6,11.")
    ] = None,
    similarity: Annotated[str, typer.Option(help="raw, centred or cosine.")] = "raw",
    pairs: Annotated[
        str,
        typer.Option(help="High-similarity pairs: top:SHARE of a text's pairs or max:FRACTION."),
    ] = "top:0.01",
    attention_threshold: Annotated[
        float, typer.Option(help="Scaled column mass from which a token has high attention.")
    ] = 0.3,
    special_tokens: Annotated[
        bool, typer.Option("--special-tokens", help="Let special tokens form pairs.")
    ] = False,
    minimal: Annotated[
        bool,
        typer.Option(
            "--minimal",
            help="Only this similarity and these thresholds: no sweep, permutations or profiles.",
        ),
    ] = False,
    nulls: Annotated[
        int, typer.Option(help="Texts for the untrained model, as the null; 0 = off.")
    ] = 200,
    min_tokens: Annotated[
        int, typer.Option(help="Leave out windows with fewer tokens than this.")
    ] = 16,
    text_column: Annotated[str, typer.Option(help="Column of tables with the text.")] = "text",
    id_column: Annotated[
        str | None, typer.Option(help="Column of tables that names the document.")
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column of tables that names the domain.")
    ] = None,
    batch_tokens: Annotated[
        int, typer.Option(help="Tokens that go through the model at once.")
    ] = 1024,
    shard_windows: Annotated[
        int, typer.Option(help="Texts of a shard, the piece of work that a worker takes.")
    ] = 512,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes (with --on ray: actors) that share out the cores."),
    ] = None,
    on: Annotated[
        str, typer.Option(help="local, or ray: on a Ray cluster, or a Ray started here.")
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="Of the Ray cluster: auto, or HOST:PORT.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of a worker; by default the cores shared out.")
    ] = None,
    gpus_per_worker: Annotated[
        float, typer.Option(help="GPUs that Ray sets aside for a worker, such as 1 or 0.5.")
    ] = 0.0,
    via: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Store of fsspec (s3://...) for Ray workers that do not see the run folder.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append a line of JSON for everything that happens."),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Whether to write report.html.")
    ] = True,
    dtype: Dtype = "float32",
    device: Device = "cpu",
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Say at the end where the time went, by stage.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure what every head of a model writes, over a corpus.

    Without options: the demo model over the demo corpus, into runs/demo.
    """
    # Before torch is imported: that takes about as long.
    compile_ahead(window)
    from headscope.analyze import analyze
    from headscope.cli.tables import print_findings
    from headscope.measuring.workers.plan import place

    stack = ExitStack()
    times = stack.enter_context(stage_times()) if profile else None
    try:
        run = analyze(
            model,
            corpus or ["demo"],
            texts=texts,
            out=out,
            window=window,
            min_tokens=min_tokens,
            layers=None if layers is None else _layer_numbers(layers),
            similarity=similarity_variant(similarity),
            pairs=pairs,
            attention_threshold=attention_threshold,
            special_tokens=special_tokens,
            minimal=minimal,
            nulls=nulls,
            report=report,
            text_column=text_column,
            id_column=id_column,
            label_column=label_column,
            batch_tokens=batch_tokens,
            shard_windows=shard_windows,
            workers=workers,
            on=place(on),
            address=address,
            threads=threads,
            gpus_per_worker=gpus_per_worker,
            via=via,
            log=log,
            dtype=dtype,
            device=device,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
            progress=not quiet,
        )
    except KeyboardInterrupt:
        sys.stderr.write(
            "headscope: interrupted; finished shards are kept: "
            "run the same command again to go on\n"
        )
        raise typer.Exit(130) from None
    finally:
        stack.close()
    if times is not None:
        sys.stderr.write(f"seconds of all threads, by stage\n{times}\n")
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "run": str(run.folder),
                    "texts": run.manifest.corpus.windows,
                    "left_out": len(run.left_out),
                    "layers": json.loads(run.layers.to_json(orient="records")),
                }
            )
        )
        return
    print_findings(run)
    if left_out := run.left_out:
        typer.echo(
            f"left out {count_kinds(left_out)} texts; headscope info {run.folder} names them"
        )
    if not quiet:
        typer.echo(f"run     {run.folder}")
    if report and not quiet:
        typer.echo(f"report  {run.folder / 'report.html'}")


def _layer_numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise SettingsError(f"layers: {text!r} is not a list of numbers such as 1,6,11") from None
