"""`headscope`: the commands together, and what happens when one of them fails."""

import sys
from typing import Annotated

import typer
from typer.core import TyperGroup

from headscope import __version__
from headscope.cli.analyze import analyze_command
from headscope.cli.claims import claims_command
from headscope.cli.compare import compare_command
from headscope.cli.doctor import doctor_command
from headscope.cli.figures import figures_command
from headscope.cli.info import info_command
from headscope.cli.look import look_command
from headscope.cli.merge import merge_command
from headscope.cli.report import report_command
from headscope.cli.segment import segment_command
from headscope.cli.segment_eval import segment_eval_command
from headscope.cli.serve import serve_command
from headscope.cli.stability import stability_command
from headscope.cli.sweep import sweep_command
from headscope.errors import HeadscopeError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""A mistyped option or command. (Which module it lives in changes between versions of typer.)"""


class _InOrder(TyperGroup):
    """Commands in the order in which they are used, not of the alphabet."""

    def list_commands(self, ctx: object) -> list[str]:
        """The names of the commands as they were added."""
        return list(self.commands)


app = typer.Typer(
    cls=_InOrder,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("analyze")(analyze_command)
app.command("info")(info_command)
app.command("report")(report_command)
app.command("figures")(figures_command)
app.command("merge")(merge_command)
app.command("claims")(claims_command)
app.command("sweep")(sweep_command)
app.command("stability")(stability_command)
app.command("compare")(compare_command)
app.command("look")(look_command)
app.command("serve")(serve_command)
app.command("segment")(segment_command)
app.command("segment-eval")(segment_eval_command)
app.command("doctor")(doctor_command)


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"headscope {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def headscope(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say which."),
    ] = False,
) -> None:
    """See and measure what every attention head of a transformer writes."""


def main() -> None:
    """Run a command; errors meant for users take one line of standard error."""
    try:
        # Not standalone: typer would show a mistyped option in a box of several lines.
        sys.exit(app(sys.argv[1:] or ["--help"], standalone_mode=False))
    except HeadscopeError as error:
        _say(str(error))
        sys.exit(error.exit_code)
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "headscope"
        _say(f"{error.format_message().rstrip('.')}; see: {command} --help")  # type: ignore[attr-defined]
        sys.exit(2)
    except MemoryError:
        _say("memory ran out; try a smaller --batch-tokens or --window, or a smaller model")
        sys.exit(1)
    except (KeyboardInterrupt, typer.Abort):
        _say("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has seen enough (`| head`).
        sys.stderr.close()
        sys.exit(0)


def _say(message: str) -> None:
    # A message may quote a file name or a text: it stays on its line.
    sys.stderr.write(f"headscope: {' '.join(message.split())}\n")
