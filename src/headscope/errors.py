"""Every error that users can meet, as one class tree.

A message says what is wrong, where, and what to do next. Commands print it on one line and end with
`exit_code`: 2 when the input was wrong, 1 when the run failed.
"""

LONGEST_MESSAGE = 1800
"""In characters: names of columns and files from elsewhere may be megabytes long."""


def in_one_line(error: BaseException) -> str:
    """The message of another library's error on one line, to be quoted in a message of ours."""
    return " ".join(str(error).split())[:300] or type(error).__name__


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
