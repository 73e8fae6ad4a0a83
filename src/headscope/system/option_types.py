"""Values of options, checked by their type before anything computes with them.

Python's own errors for a wrong type come from deep inside; these name the option and the way out.
"""

import difflib
import operator
from collections.abc import Iterable, Mapping
from typing import Any

from headscope.errors import SettingsError, kind_of, shortened

_HINTS = {
    "pairs": "write a rule such as 'top:0.01' or 'max:0.3'",
    "layers": "give a list of layers, such as [1, 6, 11]",
    "similarity": "give its name, such as 'centred'",
    "column_mass": "give its name, such as 'paper'",
}


def checked_options(
    options: Mapping[str, Any], types: Mapping[str, tuple[type, ...]]
) -> dict[str, Any]:
    """The options with whole numbers of any library as Python's; a wrong type is refused.

    >>> checked_options({"pairs": 0.01}, {"pairs": (str,)})
    Traceback (most recent call last):
    headscope.errors.SettingsError: pairs: 0.01 is a float; write a rule such as 'top:0.01' or \
'max:0.3'

    Args:
        options: By their names.
        types: The types that an option may have; `list` stands for anything that lists whole
            numbers. An option that is not here is a whole number.
    """
    return {name: _checked(name, value, types.get(name, (int,))) for name, value in options.items()}


def whole_number(name: str, value: object) -> int:
    """A whole number, of Python or of another library; anything else is refused.

    >>> whole_number("texts", "100")
    Traceback (most recent call last):
    headscope.errors.SettingsError: texts: '100' is a str; give a whole number

    Args:
        name: Of the option.
        value: What it was given.
    """
    if not isinstance(value, bool):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise _refusal(name, value, "give a whole number")


def take_options(options: Mapping[str, Any], group: type) -> Any:
    """The keywords that belong to a group.

    Args:
        options: Keywords of several groups.
        group: A `TypedDict` of options.
    """
    return {name: options[name] for name in group.__annotations__ if name in options}


def refuse_unknown_options(function: str, options: Mapping[str, Any], known: type) -> None:
    """Raise a TypeError, as Python does, for an unknown keyword.

    Args:
        function: Its name, for the message.
        options: The keywords that it was given.
        known: A `TypedDict` of all its options.
    """
    for name in options:
        if name not in known.__annotations__:
            near = difflib.get_close_matches(name, known.__annotations__, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def _checked(name: str, value: Any, types: tuple[type, ...]) -> Any:
    if list in types:
        return value if value is None else _whole_numbers(name, value)
    if types == (int,):
        return whole_number(name, value)
    if float in types and not isinstance(value, bool | str) and hasattr(value, "__float__"):
        return float(value)
    if not isinstance(value, types):
        kind = "True or False" if types == (bool,) else "a number"
        raise _refusal(name, value, _HINTS.get(name, f"give {kind}"))
    return value


def _whole_numbers(name: str, value: Any) -> list[int]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise _refusal(name, value, _HINTS.get(name, "give a list of whole numbers"))
    return [whole_number(name, number) for number in value]


def _refusal(name: str, value: object, hint: str) -> SettingsError:
    shown = "" if value is None else f" is {kind_of(value)}"
    return SettingsError(
        f"{name.replace('_', ' ')}: {shortened(repr(value), 60)}{shown or ' is no value'}; {hint}"
    )
