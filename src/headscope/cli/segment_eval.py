"""`headscope segment-eval`: how good segments are, beside baselines and peers."""

import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import PrintOptions, SegmentBy, SegmenterOptions
from headscope.cli.tables import Column, cell, print_table
from headscope.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

TOPIC_TEXTS, TOPIC_PASSAGES, PASSAGE_SENTENCES = 20, 10, (5, 15)
"""The defaults of `concatenate_passages`: stated again, since its module imports torch. A test
holds them equal."""


@dataclass(frozen=True)
class EvaluationOptions(OptionGroup, panel="Evaluation"):
    """What is evaluated."""

    by: SegmentBy = "sentence"
    texts: Annotated[
        int | None,
        typer.Option(
            "--texts",
            "-n",
            help="Sentences: maximum number of documents (default: all). Topics: number of texts "
            f"to put together (default: {TOPIC_TEXTS}).",
        ),
    ] = None
    passages: Annotated[int, typer.Option(help="Topics: number of passages in a text.")] = (
        TOPIC_PASSAGES
    )
    passage: Annotated[
        str, typer.Option(metavar="MIN,MAX", help="Topics: number of sentences in a passage.")
    ] = "{},{}".format(*PASSAGE_SENTENCES)
    seed: Annotated[int, typer.Option(help="Seed of the passages and of the random baseline.")] = 0


def segment_eval_command(
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            help="Sentences: a corpus with gold sentences (.conllu, also .gz). Topics: any corpus.",
        ),
    ],
    evaluation: EvaluationOptions,
    model: SegmenterOptions,
    output: PrintOptions,
) -> None:
    """Compare segments with known ones: F1, Pk, WindowDiff, Boundary Similarity.

    Sentences: as written, on one line, and without punctuation and case. Topics: texts put together
    from passages of different documents. Other splitters that are installed are evaluated, too.
    """
    from headscope.models.load import load_model
    from headscope.segment import Segmenter
    from headscope.segment.evaluation.evaluate_sentences import evaluate_sentences
    from headscope.segment.evaluation.evaluate_topics import concatenate_passages, evaluate_topics
    from headscope.system.progress import Progress, ProgressBars
    from headscope.text.corpus import read_corpus

    by, texts, seed = evaluation.by, evaluation.texts, evaluation.seed
    if by not in ("sentence", "topic"):
        raise SettingsError(f"by: {by!r} is not one of sentence, topic")
    shortest, longest = _numbers(evaluation.passage)
    if texts is not None and texts < 1:
        raise SettingsError(f"texts: {texts} is too few; ask for at least 1")
    documents = read_corpus(corpus)
    with Progress() if output.quiet else ProgressBars() as progress:
        if by == "sentence":
            chosen = list(islice(documents, texts))
        else:
            made = concatenate_passages(
                list(documents),
                texts=texts or TOPIC_TEXTS,
                passages=evaluation.passages,
                shortest=shortest,
                longest=longest,
                seed=seed,
            )
        progress.stage("loading the model", total=1)
        loaded = load_model(
            model.model, allow_pickle=model.allow_pickle, trust_remote_code=model.trust_remote_code
        )
        segmenter = Segmenter(loaded, weights=model.weights)
        if by == "sentence":
            table = evaluate_sentences(segmenter, chosen, seed=seed, on_method=progress.stage)
        else:
            table = evaluate_topics(segmenter, made, seed=seed, on_method=progress.stage)
    if output.as_json:
        typer.echo(json.dumps(json.loads(table.to_json(orient="records"))))
    else:
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

    rows: list[list[str] | None] = []
    previous = None
    for row in table.to_dict("records"):
        if rows and row.get("condition") != previous:
            rows.append(None)
        previous = row.get("condition")
        rows.append(
            [
                value if isinstance(value, str) else cell(value, _FORMS.get(str(name), ".3f"))
                for name, value in row.items()
            ]
        )
    print_table(
        [
            Column(name.replace("_", " "), number=name not in ("condition", "method"))
            for name in table.columns
        ],
        rows,
    )
    typer.echo("pk, window diff: errors, lower is better; the other measures: higher is better")
