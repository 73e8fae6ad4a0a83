"""Options that several commands have, alone and in groups. Defaults come from `Settings`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.option_groups import OptionGroup
from headscope.errors import SettingsError
from headscope.settings import SIMILARITY_VARIANTS, Settings

DEFAULTS = Settings()

OUTPUT_PANEL = "Output"
"""The panel that also has --help."""

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")]
RunFolders = Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Run folders.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no remarks.")]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="M",
        help="[b]demo[/b], a local folder, or a model id on the hub, also as MODEL@REVISION.",
    ),
]
AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle",
        help="Also load pickled weights. They can run code: only for models you trust.",
    ),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run code that comes with the model. Only for models you trust.",
    ),
]
Dtype = Annotated[
    str, typer.Option(help="dtype of the weights: float32, float64, bfloat16 or float16.")
]
Device = Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, cuda:1 or mps.")]
Layers = Annotated[
    str | None, typer.Option(help="Only these layers, numbered from 1, such as 1,6,11.")
]
SegmentBy = Annotated[str, typer.Option(help="What a segment is: sentence or topic.")]


def layer_numbers(text: str | None) -> list[int] | None:
    """The layers that `--layers` names.

    Args:
        text: Numbers with commas between them; None for all layers.
    """
    try:
        return None if text is None else [int(number) for number in text.split(",")]
    except ValueError:
        raise SettingsError(f"layers: {text!r} is not a list of numbers such as 1,6,11") from None


@dataclass(frozen=True)
class ModelOptions(OptionGroup, panel="Model"):
    """Which model, and how it is loaded."""

    model: ModelName = "demo"
    dtype: Dtype = "float32"
    device: Device = "cpu"
    allow_pickle: AllowPickle = False
    trust_remote_code: TrustRemoteCode = False


@dataclass(frozen=True)
class SegmenterOptions(OptionGroup, panel="Model"):
    """Which model a segmenter reads with, and its weights."""

    model: ModelName = "demo"
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="What Segmenter.fit(...).save wrote, for models other than demo.",
        ),
    ] = None
    allow_pickle: AllowPickle = False
    trust_remote_code: TrustRemoteCode = False


@dataclass(frozen=True)
class PairOptions(OptionGroup, panel="Measuring"):
    """Which pairs have high similarity, and which tokens high attention."""

    similarity: Annotated[
        str,
        typer.Option(
            help=f"How token vectors are compared: {', '.join(SIMILARITY_VARIANTS[:-1])} or "
            f"{SIMILARITY_VARIANTS[-1]}."
        ),
    ] = DEFAULTS.similarity
    pairs: Annotated[
        str,
        typer.Option(
            help="High-similarity pairs: top:SHARE of a window's pairs, or max:FRACTION of its "
            "largest similarity."
        ),
    ] = str(DEFAULTS.pairs)
    attention_threshold: Annotated[
        float, typer.Option(help="Minimum scaled column mass of a high-attention token.")
    ] = DEFAULTS.attention_threshold
    special_tokens: Annotated[
        bool, typer.Option("--special-tokens", help="Let special tokens form pairs.")
    ] = DEFAULTS.special_tokens
    column_mass: Annotated[
        str,
        typer.Option(
            help="How attention received is scaled: counted (per query that sees the token, "
            "relative to tokens that may form pairs) or paper (as it is, relative to all tokens)."
        ),
    ] = DEFAULTS.column_mass


@dataclass(frozen=True)
class PrintOptions(OptionGroup, panel=OUTPUT_PANEL):
    """What is printed."""

    as_json: Json = False
    quiet: Quiet = False
