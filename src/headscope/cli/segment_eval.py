"""`headscope segment-eval`: how good segments are, beside baselines and peers."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.options import AllowPickle, Json, ModelOption, Quiet, TrustRemoteCode
from headscope.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd


def segment_eval_command(
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            help="With gold sentences (.conllu, also .gz); for topics any corpus of documents.",
        ),
    ],
    by: Annotated[str, typer.Option(help="sentence or topic.")] = "sentence",
    model: ModelOption = "demo",
    weights: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="What Segmenter.fit(...).save wrote.")
    ] = None,
    texts: Annotated[
        int | None,
        typer.Option("--texts", "-n", help="So many documents; of topics, so many texts (20)."),
    ] = None,
    passages: Annotated[int, typer.Option(help="Topics: passages in a text.")] = 10,
    passage: Annotated[
        str, typer.Option(metavar="MIN,MAX", help="Topics: sentences of a passage.")
    ] = "5,15",
    seed: Annotated[int, typer.Option(help="Of passages and of the random baseline.")] = 0,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare segments with known ones: F1, Pk, WindowDiff, Boundary Similarity.

    Sentences: as written, on one line, and without punctuation and case. Topics: texts put together
    from passages of different documents. Peers that are installed run beside.
    """
    from itertools import islice

    from headscope.models.load import load_model
    from headscope.segment import Segmenter
    from headscope.segment.evaluation.evaluate_sentences import evaluate_sentences
    from headscope.segment.evaluation.evaluate_topics import concatenate_passages, evaluate_topics
    from headscope.system.progress import Progress, ProgressBars
    from headscope.text.corpus import read_corpus

    if by not in ("sentence", "topic"):
        raise SettingsError(f"by: {by!r} is not one of sentence, topic")
    shortest, longest = _numbers(passage)
    if texts is not None and texts < 1:
        raise SettingsError(f"texts: {texts} is too few; ask for at least 1")
    documents = read_corpus([corpus])
    with Progress() if quiet else ProgressBars() as bars:
        if by == "sentence":
            chosen = list(islice(documents, texts))
        else:
            made = concatenate_passages(
                list(documents),
                texts=texts or 20,
                passages=passages,
                shortest=shortest,
                longest=longest,
                seed=seed,
            )
        bars.stage("loading the model", total=1)
        loaded = load_model(model, allow_pickle=allow_pickle, trust_remote_code=trust_remote_code)
        segmenter = Segmenter(loaded, weights=weights)
        if by == "sentence":
            table = evaluate_sentences(segmenter, chosen, seed=seed, on_method=bars.stage)
        else:
            table = evaluate_topics(segmenter, made, seed=seed, on_method=bars.stage)
    if as_json:
        typer.echo(json.dumps(json.loads(table.to_json(orient="records"))))
        return
    _print(table)


def _numbers(passage: str) -> tuple[int, int]:
    try:
        shortest, longest = (int(number) for number in passage.split(","))
    except ValueError:
        raise SettingsError(f"passage: {passage!r} is not MIN,MAX such as 5,15") from None
    if not 1 <= shortest <= longest:
        raise SettingsError(f"passage: {passage} must be at least 1, the smaller number first")
    return shortest, longest


_FORMS = {"characters_per_second": ",.0f", "segments": ".1f"}


def _print(table: "pd.DataFrame") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in table.columns:
        numeric = column not in ("condition", "method")
        title = column.replace("_", " ")
        shown.add_column(title, justify="right" if numeric else "left", no_wrap=not numeric)
    previous = None
    for row in table.to_dict("records"):
        if previous is not None and row.get("condition") != previous:
            shown.add_section()
        previous = row.get("condition")
        shown.add_row(*(_cell(str(name), value) for name, value in row.items()))
    console = Console(highlight=False)
    console.print(shown)
    console.print("pk, window diff: errors, lower is better; the other measures: higher is better")


def _cell(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    return "-" if number != number else format(number, _FORMS.get(name, ".3f"))
