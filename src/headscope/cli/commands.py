"""The commands of `headscope`, in the order in which they are used.

To add one, write a file with a function and put it into `COMMANDS` below. Code outside headscope
calls `COMMANDS.add(Command("name", function))` before `headscope.cli.main()`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from headscope.cli.ablate import ablate_command
from headscope.cli.analyze import analyze_command
from headscope.cli.claims import claims_command
from headscope.cli.compare import compare_command
from headscope.cli.doctor import doctor_command
from headscope.cli.export import export_command
from headscope.cli.figures import figures_command
from headscope.cli.info import info_command
from headscope.cli.lens import lens_command
from headscope.cli.look import look_command
from headscope.cli.merge import merge_command
from headscope.cli.prune import prune_command
from headscope.cli.reach import reach_command
from headscope.cli.report import report_command
from headscope.cli.segment import segment_command
from headscope.cli.segment_eval import segment_eval_command
from headscope.cli.serve import serve_command
from headscope.cli.stability import stability_command
from headscope.cli.sweep import sweep_command
from headscope.system.registry import Registry


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `headscope`."""

    name: str
    run: Callable[..., None]
    """Its parameters are option groups, and arguments and options of typer; its docstring is its
    help, the first line of it in the list of commands."""
    panel: str | None = None
    """The panel of `headscope --help` that lists it; None: the one for all others."""


COMMANDS: Registry[Command] = Registry(
    "command",
    [
        Command("analyze", analyze_command, "Runs"),
        Command("info", info_command, "Runs"),
        Command("report", report_command, "Runs"),
        Command("figures", figures_command, "Runs"),
        Command("merge", merge_command, "Runs"),
        Command("export", export_command, "Runs"),
        Command("claims", claims_command, "Findings"),
        Command("sweep", sweep_command, "Findings"),
        Command("stability", stability_command, "Findings"),
        Command("compare", compare_command, "Findings"),
        Command("reach", reach_command, "Findings"),
        Command("lens", lens_command, "Findings"),
        Command("ablate", ablate_command, "Causes"),
        Command("prune", prune_command, "Causes"),
        Command("look", look_command, "One text"),
        Command("serve", serve_command, "One text"),
        Command("segment", segment_command, "Segments"),
        Command("segment-eval", segment_eval_command, "Segments"),
        Command("doctor", doctor_command, "This machine"),
    ],
)
