"""Every error that users can meet, as one class tree.

A message says what is wrong, where, and what to do next. Commands print it on one line and end with
`exit_code`: 2 when the input was wrong, 1 when the run failed. What to do next is named as it is
written where the user is: `--out` in a terminal, `out=` in Python (`option`).
"""

from collections.abc import Iterator
from contextlib import contextmanager

_on_the_command_line = False

LONGEST_MESSAGE = 1800
"""In characters: names of columns and files from elsewhere may be megabytes long."""


@contextmanager
def on_the_command_line() -> Iterator[None]:
    """While open, messages speak of the options of commands, not of keywords."""
    global _on_the_command_line
    before, _on_the_command_line = _on_the_command_line, True
    try:
        yield
    finally:
        _on_the_command_line = before


def in_a_command() -> bool:
    """Whether what is going on was asked for on the command line."""
    return _on_the_command_line


def option(name: str, value: object = None) -> str:
    """An option as the user writes it, for a message.

    >>> option("allow_pickle", True), option("dtype", "float32"), option("out")
    ('allow_pickle=True', "dtype='float32'", 'out=')
    >>> with on_the_command_line():
    ...     option("allow_pickle", True), option("dtype", "float32"), option("out")
    ('--allow-pickle', '--dtype float32', '--out')

    Args:
        name: The keyword in Python.
        value: What to set it to; None to name the option alone.
    """
    if not _on_the_command_line:
        return f"{name}=" if value is None else f"{name}={value!r}"
    flag = f"--{name.replace('_', '-')}"
    return flag if value is None or value is True else f"{flag} {value}"


def keyword_of(function: str, name: str) -> str:
    """What to do about something that only Python has a keyword for, for a message.

    >>> keyword_of("hs.load_model", "tokenizer")
    'pass tokenizer='
    >>> with on_the_command_line():
    ...     keyword_of("hs.load_model", "tokenizer")
    'in Python, hs.load_model takes tokenizer='

    Args:
        function: The public function that has the keyword.
        name: The keyword.
    """
    return f"in Python, {function} takes {name}=" if _on_the_command_line else f"pass {name}="


def in_one_line(error: BaseException) -> str:
    """The message of another library's error on one line, to be quoted in a message of ours."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def kind_of(value: object) -> str:
    """The type of a value with its article.

    >>> kind_of(3), kind_of([])
    ('an int', 'a list')

    Args:
        value: Any.
    """
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def shortened(name: object, longest: int = 120) -> str:
    """A name from elsewhere, to be quoted in a message: of a long one, its start and its end.

    >>> shortened("a column " * 1000, longest=20)
    'a column a ...  a column '

    Args:
        name: Of a file, a column or anything else that others chose.
        longest: Number of characters that are kept.
    """
    text = str(name)
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]} ... {text[-(longest // 2) :]}"


class HeadscopeError(Exception):
    """The base class: catch this to catch everything that headscope raises on purpose."""

    exit_code = 2

    def __str__(self) -> str:
        """The message. If it quotes something very long, its middle is left out."""
        message = super().__str__()
        if len(message) <= LONGEST_MESSAGE:
            return message
        kept = LONGEST_MESSAGE // 2
        return f"{message[:kept]} ... {message[-kept:]}"


class CorpusError(HeadscopeError):
    """A corpus cannot be read, or holds nothing that can be analysed."""


class ModelError(HeadscopeError):
    """A model cannot be found or loaded."""


class TapError(HeadscopeError):
    """The head outputs of a model cannot be read, or fail the self-check."""


class SettingsError(HeadscopeError):
    """An option has an invalid value."""


class RunError(HeadscopeError):
    """A run folder is missing, damaged, or holds something else."""


class StorageError(RunError):
    """A run folder cannot be written: no space, no permission, no lock."""

    exit_code = 1


class MergeError(RunError):
    """Runs cannot be merged."""


class MeasurementError(HeadscopeError):
    """The model gave numbers that cannot be measured (NaN or infinity)."""

    exit_code = 1


class WorkerError(HeadscopeError):
    """Workers keep dying, or never start."""

    exit_code = 1
