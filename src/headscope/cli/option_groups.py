"""Option groups: a command takes a few dataclasses where typer wants thirty parameters.

A group is a frozen dataclass whose fields are typer options. Its options share a panel of `--help`:

    @dataclass(frozen=True)
    class CorpusOptions(OptionGroup, panel="Corpus"):
        texts: Annotated[int | None, typer.Option("--texts", "-n", help="...")] = None

    def analyze_command(corpus: CorpusOptions, quiet: Quiet = False) -> None: ...

typer is given `flatten(analyze_command)`, which has a parameter for every option.
"""

import inspect
import math
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

from headscope.errors import SettingsError, shortened
from headscope.settings import MAX_NUMBER


class OptionGroup:
    """What groups derive from."""

    panel: ClassVar[str | None] = None

    def __init_subclass__(cls, panel: str | None = None) -> None:
        if panel is not None:
            cls.panel = panel

    def keywords(self) -> dict[str, Any]:
        """The options by name, for a function that takes them as keywords."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class HelpWhenBuilt:
    """The help of an option that lists what a registry holds; put it after the option.

    It is asked for when the app is built, so that it names what was registered by then.
    """

    text: Callable[[], str]


def flatten(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of its groups as parameters of its own.

    >>> @dataclass(frozen=True)
    ... class Fruit(OptionGroup):
    ...     apples: int = 1
    ...     pears: int = 2
    >>> def count(fruit: Fruit, loudly: bool = False) -> int:
    ...     return fruit.apples + fruit.pears
    >>> inspect.signature(flatten(count))
    <Signature (*, apples: int = 1, pears: int = 2, loudly: bool = False) -> int>
    >>> flatten(count)(apples=3, pears=4, loudly=True)
    7

    Args:
        command: A function whose parameters are groups, and arguments and options of typer.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, type[OptionGroup]] = {}
    flat: dict[str, Parameter] = {}
    for parameter in signature.parameters.values():
        own_type = parameter.annotation
        if isinstance(own_type, type) and issubclass(own_type, OptionGroup):
            groups[parameter.name] = own_type
            added = _parameters(own_type)
        else:
            added = [parameter.replace(kind=Parameter.KEYWORD_ONLY)]
        for option in added:
            if option.name in flat:
                raise TypeError(f"{command.__name__}() has two options named {option.name!r}")
            flat[option.name] = option

    @wraps(command)
    def flat_command(**values: Any) -> Any:
        for name, value in values.items():
            _refuse_absurd(name, value)
        filled = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})  # type: ignore[arg-type]
            for name, group in groups.items()
        }
        return command(**values, **filled)

    flat_signature = signature.replace(parameters=list(flat.values()))
    flat_command.__signature__ = flat_signature  # type: ignore[attr-defined]
    flat_command.__annotations__ = {name: option.annotation for name, option in flat.items()}
    return flat_command


def _refuse_absurd(name: str, value: object) -> None:
    """Refuse numbers that no option can mean, before libraries meet them."""
    option = "--" + name.replace("_", "-")
    if isinstance(value, int) and abs(value) > MAX_NUMBER:
        raise SettingsError(f"{option}: {shortened(value, 40)} is too large; give at most 2^31 - 1")
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingsError(f"{option}: {value} is not a number; give a finite one")


def _parameters(group: type[OptionGroup]) -> list[Parameter]:
    types = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=_in_panel(types[field.name], group.panel),
        )
        for field in fields(group)  # type: ignore[arg-type]
    ]


def _in_panel(annotation: Any, panel: str | None) -> Any:
    """The annotation of an option, which is told its panel and its help."""
    if get_origin(annotation) is not Annotated:
        return annotation
    value_type, *notes = get_args(annotation)
    late_help = [note.text() for note in notes if isinstance(note, HelpWhenBuilt)]
    for note in notes:
        if isinstance(note, OptionInfo):
            option = copy(note)
            option.rich_help_panel = option.rich_help_panel or panel
            option.help = late_help[0] if late_help else option.help
            return Annotated[value_type, option]
    return annotation
