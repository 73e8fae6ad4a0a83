"""`headscope`: the app that the commands make, and what happens when one of them fails."""

import _thread
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from headscope import __version__
from headscope.cli.commands import COMMANDS, Command
from headscope.cli.option_groups import flatten
from headscope.cli.options import OUTPUT_PANEL
from headscope.errors import HeadscopeError, in_one_line, on_the_command_line, shortened
from headscope.system.terminal import visible

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""

_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""A mistyped option or command. (Its module depends on the version of typer.)"""


class _CommandsInOrder(TyperGroup):
    """Commands in the order in which they are used, not alphabetically."""

    def list_commands(self, ctx: object) -> list[str]:
        """The names of the commands as they were added."""
        return list(self.commands)


class _PanelledCommand(TyperCommand):
    """A command whose --help is in its output panel, if it has one.

    It would otherwise be alone in a panel above all others.
    """

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help."""
        option = super().get_help_option(ctx)
        panels = [getattr(parameter, "rich_help_panel", None) for parameter in self.params]
        if option is not None and OUTPUT_PANEL in panels:
            option.rich_help_panel = OUTPUT_PANEL
        return option


def build_app() -> typer.Typer:
    """The command line with all commands that are registered by now."""
    app = typer.Typer(
        cls=_CommandsInOrder,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(headscope)
    for command in COMMANDS:
        add = app.command(
            command.name,
            cls=_PanelledCommand,
            help=_help(command),
            rich_help_panel=command.panel,
        )
        add(flatten(command.run))
    return app


def _help(command: Command) -> str:
    """The docstring of a command, a line per paragraph: typer keeps other line breaks."""
    paragraphs = (command.run.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"headscope {__version__}")
        raise typer.Exit
    return asked


def headscope(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """See and measure what every attention head of a transformer writes."""


def main() -> None:
    """Run a command; errors meant for users take one line of standard error."""
    with on_the_command_line():
        _run_command()


def _run_command() -> None:
    try:
        with _no_interrupt_lost():
            # Not standalone: typer would show a mistyped option in a box of several lines.
            sys.exit(build_app()(sys.argv[1:] or ["--help"], standalone_mode=False))
    except HeadscopeError as error:
        _say(str(error))
        sys.exit(error.exit_code)
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "headscope"
        _say(f"{error.format_message().rstrip('.')}; see: {command} --help")  # type: ignore[attr-defined]
        sys.exit(2)
    except MemoryError:
        _say("out of memory; try a smaller --batch-tokens or --window, or a smaller model")
        sys.exit(1)
    except (KeyboardInterrupt, typer.Abort) as error:
        _free_quietly(error)
        _say("interrupted")
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        # typer has seen that the reader of our output is gone, and would end with 1.
        _drop_what_cannot_be_written()
        sys.exit(0)
    except BrokenPipeError:
        # The reader of our output has seen enough (`| head`).
        _drop_what_cannot_be_written()
        sys.exit(0)
    except (OSError, ImportError, UnicodeEncodeError) as error:
        _say(_reason(error))
        _drop_what_cannot_be_written()
        sys.exit(1)
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        _say("this user may not start more threads (ulimit -u); end other programs")
        sys.exit(1)


_SOON_S = 0.05


@contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """While open, a Ctrl-C that comes where nothing can be raised is repeated soon after.

    There, in the clean-up after objects, Python would print a traceback and go on.
    """
    usual = sys.unraisablehook

    def interrupt_soon() -> None:
        time.sleep(_SOON_S)  # the clean-up must be over
        _thread.interrupt_main()

    def interrupt_again(unraisable: "sys.UnraisableHookArgs") -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            _thread.start_new_thread(interrupt_soon, ())
        else:
            usual(unraisable)

    sys.unraisablehook = interrupt_again
    try:
        yield
    finally:
        sys.unraisablehook = usual


def _free_quietly(error: BaseException) -> None:
    """Free what an interrupted command held, without a word of objects that were half made.

    Libraries may fail to close what they had not finished opening; Python would print tracebacks.
    """
    usual, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
    try:
        at: BaseException | None = error
        while at is not None:
            traceback.clear_frames(at.__traceback__)
            at = at.__context__
    finally:
        sys.unraisablehook = usual


def _reason(error: OSError | ImportError | UnicodeEncodeError) -> str:
    """What the system refuses, in words: no file of ours is to blame."""
    if isinstance(error, UnicodeEncodeError):
        name = shortened(error.object.encode("utf-8", "backslashreplace").decode())
        return f"{name} is not valid UTF-8; rename that file or folder"
    if isinstance(error, ImportError):
        return (
            f"cannot be loaded: {in_one_line(error)}; check the installation, and whether memory "
            "is limited (ulimit -v)"
        )
    if error.filename is None:
        return f"{in_one_line(error)}; check the disk, and the limits of this process"
    return f"{shortened(error.filename)}: {error.strerror}; check the path"


def _drop_what_cannot_be_written() -> None:
    """Python flushes its streams at the end, which would fail again, with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(message: str) -> None:
    # A message may quote a file name or a text of any length: it stays on its line.
    line = visible(shortened(" ".join(message.split()), 2000))
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"headscope: {line}\n")
