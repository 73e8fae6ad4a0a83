"""`headscope`: the commands together, and what happens when one of them fails."""

import sys
from typing import Annotated

import typer
from typer.core import TyperGroup

from headscope import __version__
from headscope.cli.analyze import analyze_command
from headscope.cli.doctor import doctor_command
from headscope.cli.info import info_command
from headscope.cli.merge import merge_command
from headscope.errors import HeadscopeError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class _InOrder(TyperGroup):
    """Commands in the order in which they are used, not of the alphabet."""

    def list_commands(self, ctx: object) -> list[str]:
        """The names of the commands as they were added."""
        return list(self.commands)


app = typer.Typer(
    cls=_InOrder,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("analyze")(analyze_command)
app.command("info")(info_command)
app.command("merge")(merge_command)
app.command("doctor")(doctor_command)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"headscope {__version__}")
        raise typer.Exit


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
        app()
    except HeadscopeError as error:
        # A message may quote a file name or a text: it stays on its line.
        line = " ".join(str(error).split())
        sys.stderr.write(f"headscope: {line}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output has seen enough (`| head`).
        sys.stderr.close()
        sys.exit(0)
