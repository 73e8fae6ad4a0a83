"""`headscope segment`: a text cut into sentences or topics, one a line."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.options import AllowPickle, Json, ModelOption, Quiet, TrustRemoteCode
from headscope.errors import CorpusError

if TYPE_CHECKING:
    from headscope.system.progress import Progress
    from headscope.text.readers.source_file import SourceFile


def segment_command(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="A text file (UTF-8, also .gz), or - for stdin.")
    ],
    by: Annotated[str, typer.Option(help="sentence or topic.")] = "sentence",
    model: ModelOption = "demo",
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="What Segmenter.fit(...).save wrote, for other models."
        ),
    ] = None,
    mode: Annotated[str, typer.Option(help="auto, punctuated or unpunctuated.")] = "auto",
    threshold: Annotated[
        float | None, typer.Option(help="Probability from which a boundary is worth a cut.")
    ] = None,
    min_length: Annotated[
        int | None, typer.Option(help="Characters that a segment has at least.")
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(help="Characters that a segment has at most.")
    ] = None,
    n_segments: Annotated[
        int | None, typer.Option(help="So many segments. Reads the whole file at once.")
    ] = None,
    blank_lines: Annotated[
        bool,
        typer.Option("--blank-lines/--no-blank-lines", help="A blank line ends a sentence."),
    ] = True,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cut a text into sentences or topics, also without punctuation; one segment a line.

    Line breaks inside a segment are printed as spaces. With --json each line is an object with the
    segment as it stands in the text and its place in characters.
    """
    from headscope.models.load import load_model
    from headscope.segment import Segmenter
    from headscope.system.progress import Progress, ProgressBars

    source = _source(file)
    loaded = load_model(model, allow_pickle=allow_pickle, trust_remote_code=trust_remote_code)
    segmenter = Segmenter(
        loaded,
        by,
        mode=mode,
        threshold=threshold,
        min_length=min_length,
        max_length=max_length,
        n_segments=n_segments,
        blank_lines=blank_lines,
        weights=weights,
    )
    with Progress() if quiet else ProgressBars() as bars:
        bars.stage("characters")
        pieces = _watched(source, bars)
        first = next(pieces, "")
        if not quiet:
            chosen = segmenter.mode_of(first)
            sys.stderr.write(f"mode: {chosen}{'' if segmenter.mode else ' (--mode sets it)'}\n")
        segments = (
            iter(segmenter.split("".join([first, *pieces])))
            if n_segments is not None
            else segmenter.stream(_chain(first, pieces))
        )
        _print(segments, as_json)


def _source(file: str) -> "SourceFile":
    from headscope.text.readers.source_file import SourceFile

    if file == "-":
        return SourceFile(None, "stdin")
    path = Path(file)
    if "\0" in file or not path.exists():
        raise CorpusError(f"no such file: {file}; check the path, or give - for standard input")
    if path.is_dir():
        raise CorpusError(f"{file} is a folder; give one text file")
    return SourceFile(path, path.name)


def _watched(source: "SourceFile", bars: "Progress") -> Iterator[str]:
    for piece in source.pieces():
        bars.advance(len(piece))
        yield piece


def _chain(first: str, pieces: Iterator[str]) -> Iterator[str]:
    yield first
    yield from pieces


def _print(segments: Iterator[str], as_json: bool) -> None:
    start = 0
    for segment in segments:
        end = start + len(segment)
        if as_json:
            facts = {"start": start, "end": end, "text": segment}
            typer.echo(json.dumps(facts, ensure_ascii=False))
        elif line := " ".join(segment.split()):
            typer.echo(line)
        start = end
