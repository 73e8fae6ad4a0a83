"""Option groups, the registry of commands, and where defaults come from."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
import typer.main

from headscope.cli.app import build_app
from headscope.cli.commands import COMMANDS, Command
from headscope.cli.option_groups import HelpWhenBuilt, OptionGroup, flatten
from headscope.settings import NULL_WINDOWS, Settings
from headscope.text.readers import READERS, Reader

PANELS = {
    "Corpus": "--corpus -c --texts -n --first --seed --keep-duplicates --window --min-tokens "
    "--text-column --id-column --label-column",
    "Model": "--model -m --dtype --device --allow-pickle --trust-remote-code",
    "Measuring": "--similarity --pairs --attention-threshold --special-tokens --column-mass "
    "--layers --minimal --nulls --null-seeds --robustness --signal --no-signal",
    "Output": "--out -o --report --no-report --log --profile --json --quiet -q",
    "Workers": "--workers --threads --batch-tokens --shard-windows --on --address "
    "--gpus-per-worker --via",
}
"""The options of `analyze`: people's scripts have them."""

OPTIONS = {
    "info": "--json",
    "report": "--out -o --quiet -q",
    "figures": "--out -o --format -f --only --stack --json --quiet -q",
    "merge": "--out -o --quiet -q",
    "export": "--to --out -o --json --quiet -q",
    "claims": "--explain --seed --json",
    "sweep": "--all --json",
    "stability": "--subset --subsets --by --seed --json",
    "compare": "--untrained --steps --match --model -m --texts --figure --html --seed "
    "--allow-pickle "
    "--trust-remote-code --json --quiet -q",
    "reach": "--corpus -c --window --windows -n --seed --text-column --model -m --dtype --device "
    "--allow-pickle --trust-remote-code --distances --layers --skip --untrained --out -o --figures "
    "--no-figures --json --quiet -q",
    "lens": "--corpus -c --texts -n --first --seed --keep-duplicates --window --min-tokens "
    "--text-column --id-column --label-column --model -m --dtype --device --allow-pickle "
    "--trust-remote-code --layers --positions --whole-words --probe --heads --batch-tokens --out "
    "-o --log --figures --no-figures --json --quiet -q",
    "ablate": "--corpus -c --texts -n --first --seed --keep-duplicates --window --min-tokens "
    "--text-column --id-column --label-column --model -m --dtype --device --allow-pickle "
    "--trust-remote-code --layers --approximate --batch-tokens --out -o --log --all --json "
    "--quiet -q",
    "prune": "--corpus -c --texts -n --window --seed --text-column --model -m --dtype --device "
    "--allow-pickle --trust-remote-code --heads --share --loss --by --replace --out --json "
    "--quiet -q",
    "look": "--file --layers --model -m --out -o --window --similarity --pairs "
    "--attention-threshold --special-tokens --column-mass --dtype --device --allow-pickle "
    "--trust-remote-code --json --quiet -q",
    "serve": "--model -m --port --max-tokens --quiet -q",
    "segment": "--by --model -m --weights --mode --threshold --min-length --max-length "
    "--n-segments --blank-lines --no-blank-lines --format --max-tokens --min-tokens --overlap "
    "--tokenizer --exact --allow-pickle --trust-remote-code --json --quiet -q",
    "segment-eval": "--by --model -m --weights --texts -n --passages --passage --seed "
    "--allow-pickle --trust-remote-code --json --quiet -q",
    "doctor": "--model -m --dtype --device --allow-pickle --trust-remote-code --json",
}


@dataclass(frozen=True)
class Fruit(OptionGroup, panel="Fruit"):
    apples: Annotated[int, typer.Option("--apples", "-a", help="Number of apples.")] = 1
    pears: Annotated[int, typer.Option(), HelpWhenBuilt(lambda: " ".join(READERS.names))] = 2


def toy_command(fruit: Fruit, loudly: Annotated[bool, typer.Option("--loudly")] = False) -> None:
    """Count fruit, as no other command does."""
    typer.echo(f"{fruit.apples + fruit.pears}{'!' if loudly else ''}")


def built_command(name):
    return typer.main.get_command(build_app()).commands[name]


def option_names(name):
    return {
        text
        for option in built_command(name).params
        if option.param_type_name == "option"
        for text in (*option.opts, *option.secondary_opts)
    }


def default(name, option):
    (found,) = (shown for shown in built_command(name).params if shown.name == option)
    return found.default


def test_every_command_has_the_options_that_scripts_use():
    assert set(COMMANDS.names) == {"analyze", *OPTIONS}
    assert option_names("analyze") == set(" ".join(PANELS.values()).split())
    for name, options in OPTIONS.items():
        assert option_names(name) == set(options.split()), name


def test_no_command_takes_more_than_12_parameters():
    for command in COMMANDS:
        assert len(inspect.signature(command.run).parameters) <= 12


def test_analyze_shows_its_options_in_panels(command):
    lines = command("analyze", "--help").out.splitlines()
    titles = [line.split()[1] for line in lines if line.startswith("╭")]
    assert list(dict.fromkeys(titles)) == list(PANELS)  # the argument has a box of its own
    for option in built_command("analyze").params:
        if option.param_type_name == "argument":
            assert option.rich_help_panel == "Corpus"
            continue
        assert option.opts[0] in PANELS[option.rich_help_panel].split()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", COMMANDS.names)
def test_help_fits_the_terminal_and_cuts_no_word(command, monkeypatch, name, width):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = command(name, "--help").out
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown


def test_a_command_from_outside_is_listed_and_runs(command):
    with COMMANDS.including(Command("count", toy_command, panel="Toys")):
        listed = command("--help").out
        assert "Toys" in listed
        assert "Count fruit" in listed
        assert command("count", "-a", 3, "--loudly").out == "5!\n"
        assert "Fruit" in command("count", "--help").out
    assert command("count").code == 2


def test_help_lists_the_readers_that_are_registered_when_the_app_is_built(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    odd = Reader(name="odd", endings=(".odd",), read=lambda source, columns: iter(()), holds="it")
    assert ".conllu, also .gz" in command("analyze", "--help").out
    with READERS.including(odd):
        assert ".odd, also .gz" in command("analyze", "--help").out


def test_two_options_of_one_name_are_refused():
    def twice(fruit: Fruit, pears: int = 3) -> None:
        """Has pears twice."""

    with pytest.raises(TypeError, match="two options named 'pears'"):
        flatten(twice)


def test_defaults_are_those_of_the_settings():
    settings = Settings()
    assert default("analyze", "nulls") == NULL_WINDOWS
    assert default("analyze", "window") == settings.window_tokens
    for name in ("min_tokens", "minimal", "batch_tokens", "shard_windows"):
        assert default("analyze", name) == getattr(settings, name)
    for command_name in ("analyze", "look"):
        assert default(command_name, "pairs") == str(settings.pairs)
        for name in ("similarity", "attention_threshold", "special_tokens", "column_mass"):
            assert default(command_name, name) == getattr(settings, name)


def test_defaults_are_those_of_the_api():
    from headscope.compare.match import match_runs
    from headscope.measuring.workers.plan import WorkPlan
    from headscope.models.load import load_model
    from headscope.run import Run
    from headscope.segment.evaluation.evaluate_topics import concatenate_passages
    from headscope.segment.options import SegmentSettings
    from headscope.serve.server import serve

    def assert_equal(command_name, function, *names):
        parameters = inspect.signature(function).parameters
        for name in names:
            assert default(command_name, name) == parameters[name].default, name

    work = ("on", "workers", "threads", "address", "gpus_per_worker", "via")
    loading = ("dtype", "device", "allow_pickle", "trust_remote_code")
    cutting = ("by", "mode", "threshold", "min_length", "max_length", "n_segments", "blank_lines")
    assert_equal("analyze", WorkPlan, *work)
    for command_name in ("analyze", "look", "doctor"):
        assert_equal(command_name, load_model, *loading)
    assert_equal("stability", Run.stability, "subset", "subsets", "by", "seed")
    assert_equal("compare", match_runs, "texts", "seed")
    assert_equal("serve", serve, "port", "max_tokens")
    assert_equal("segment", SegmentSettings, *cutting)
    assert_equal("segment-eval", concatenate_passages, "passages", "seed")
    topics = inspect.signature(concatenate_passages).parameters
    passage = f"{topics['shortest'].default},{topics['longest'].default}"
    assert default("segment-eval", "passage") == passage
    (texts,) = (option for option in built_command("segment-eval").params if option.name == "texts")
    assert f"(default: {topics['texts'].default})" in texts.help
