"""`headscope segment`: a text cut into sentences or topics, one per line."""

import json
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import PrintOptions, SegmenterOptions
from headscope.errors import CorpusError, SettingsError, shortened

if TYPE_CHECKING:
    from headscope.segment.chunks.limits import Chunk
    from headscope.system.progress import Progress
    from headscope.text.readers.source_file import SourceFile


_MARKDOWN = (".md", ".markdown", ".mdx")


@dataclass(frozen=True)
class SegmentOptions(OptionGroup, panel="Segments"):
    """Where a text is cut: the keywords of `Segmenter` beside the model and its weights."""

    by: Annotated[
        str | None,
        typer.Option(
            help="What a segment is: sentence (the default) or topic. With --max-tokens, where "
            "chunks are cut first: at topics (the default) or at sentences."
        ),
    ] = None
    mode: Annotated[
        str, typer.Option(help="How the text is written: auto, punctuated or unpunctuated.")
    ] = "auto"
    threshold: Annotated[
        float | None, typer.Option(help="Minimum probability of a boundary (default: as fitted).")
    ] = None
    min_length: Annotated[
        int | None, typer.Option(help="Minimum number of characters in a segment.")
    ] = None
    max_length: Annotated[
        int | None, typer.Option(help="Maximum number of characters in a segment.")
    ] = None
    n_segments: Annotated[
        int | None,
        typer.Option(help="Exact number of segments. The whole file is read at once."),
    ] = None
    blank_lines: Annotated[
        bool,
        typer.Option(
            "--blank-lines/--no-blank-lines", help="Whether a blank line ends a sentence."
        ),
    ] = True
    format: Annotated[
        str,
        typer.Option(
            help="markdown (code, tables and list items are not cut; the whole file is read at "
            "once), text, or auto: by the name of the file, then by what it holds."
        ),
    ] = "auto"
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Read in single precision, also where the processor is quicker in half of it.",
        ),
    ] = False


@dataclass(frozen=True)
class ChunkOptions(OptionGroup, panel="Chunks"):
    """Chunks of whole sentences, for retrieval."""

    max_tokens: Annotated[
        int | None, typer.Option(help="Cut into chunks of at most this many tokens.")
    ] = None
    min_tokens: Annotated[
        int | None, typer.Option(help="Minimum number of tokens in a chunk (default: none).")
    ] = None
    overlap: Annotated[
        int | None,
        typer.Option(help="Maximum number of tokens repeated from the chunk before (default: 0)."),
    ] = None
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A tokenizer.json, or its folder, that counts the tokens (default: the model's).",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """The options that were given."""
        return {name: value for name, value in self.keywords().items() if value is not None}


def segment_command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-", help="A text file (UTF-8, also .gz), or - for standard input."
        ),
    ],
    segments: SegmentOptions,
    chunks: ChunkOptions,
    model: SegmenterOptions,
    output: PrintOptions,
) -> None:
    """Cut a text into sentences, topics or chunks, with or without punctuation; one per line.

    Line breaks inside a segment are printed as spaces. With --json each line is an object: the
    segment as it stands in the text, and its place in characters; for chunks also their tokens.
    """
    from headscope.models.load import load_model
    from headscope.segment import Segmenter
    from headscope.segment.sentences.familiarity import FAMILIAR
    from headscope.system.progress import Progress, ProgressBars

    if chunks.given() and chunks.max_tokens is None:
        option = "--" + next(iter(chunks.given())).replace("_", "-")
        raise SettingsError(f"{option} is for chunks; give --max-tokens as well")
    source = _source(file)
    loaded = load_model(
        model.model, allow_pickle=model.allow_pickle, trust_remote_code=model.trust_remote_code
    )
    options = segments.keywords() | chunks.given()
    if segments.format == "auto" and Path(file.removesuffix(".gz")).suffix in _MARKDOWN:
        options["format"] = "markdown"
    segmenter = Segmenter(loaded, options.pop("by"), weights=model.weights, **options)
    with Progress() if output.quiet else ProgressBars() as progress:
        progress.stage("bytes" if (size := _size(source)) else "characters", size)
        pieces = _watched(source, progress, in_bytes=size is not None)
        first = next(pieces, "")
        if not output.quiet:
            remark = " (--mode sets it)" if segments.mode == "auto" else ""
            sys.stderr.write(f"mode: {segmenter.mode_of(first)}{remark}\n")
            # Topics of punctuated text need no weights, so that there may be none to ask.
            needed = segments.by != "topic" or segmenter.mode_of(first) == "unpunctuated"
            if needed and (confidence := segmenter.confidence(first)) < FAMILIAR:
                sys.stderr.write(
                    "warning: the weights do not know the language of this text (confidence "
                    f"{confidence:.2f}); sentences are found by rules, at punctuation alone. "
                    "Segmenter.fit learns another language\n"
                )
        if chunks.max_tokens is not None:
            _print_chunks(segmenter.stream_chunks(chain([first], pieces)), output.as_json)
        elif segments.n_segments is not None:
            _print(iter(segmenter.split("".join([first, *pieces]))), output.as_json)
        else:
            _print(segmenter.stream(chain([first], pieces)), output.as_json)


def _source(file: str) -> "SourceFile":
    from headscope.text.readers.source_file import STANDARD_INPUT, SourceFile, as_unicode

    if file in STANDARD_INPUT:
        return SourceFile.standard_input()
    named = shortened(as_unicode(file))
    try:
        is_folder = stat.S_ISDIR(Path(file).stat().st_mode)
    except (OSError, ValueError):
        raise CorpusError(
            f"no such file: {named}; check the path, or give - for standard input"
        ) from None
    if is_folder:
        raise CorpusError(f"{named} is a folder; give one text file")
    source = SourceFile.at(Path(file))
    source.check()
    return source


def _size(source: "SourceFile") -> int | None:
    """The bytes of the text, where they are known before it is read."""
    return None if source.path is None or source.gzipped else source.path.stat().st_size


def _watched(source: "SourceFile", progress: "Progress", *, in_bytes: bool) -> Iterator[str]:
    """The text in pieces; a piece counts as done when the next one is asked for."""
    for piece in source.pieces():
        yield piece
        progress.advance(len(piece.encode()) if in_bytes else len(piece))


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


def _print_chunks(chunks: "Iterator[Chunk]", as_json: bool) -> None:
    for chunk in chunks:
        if as_json:
            facts = {"start": chunk.start, "end": chunk.end, "tokens": chunk.tokens}
            typer.echo(json.dumps(facts | {"text": chunk.text}, ensure_ascii=False))
        elif line := " ".join(chunk.text.split()):
            typer.echo(line)
