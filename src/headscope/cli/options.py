"""Options that several commands have."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model", "-m", help="[b]demo[/b], a local folder, or a model id of the hub.", metavar="M"
    ),
]
AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle", help="Load pickled weights, too. They can run code: only if trusted."
    ),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Run code that comes with the model. If trusted."),
]
Dtype = Annotated[
    str, typer.Option(help="Type of the weights: float32, float64, bfloat16, float16.")
]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps.")]
