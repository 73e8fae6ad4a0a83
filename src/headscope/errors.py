"""Every error that users can meet, as one class tree.

A message says what is wrong, where, and what to do next. Commands print it on one line and end with
`exit_code`: 2 when the input was wrong, 1 when the run failed.
"""


def in_one_line(error: BaseException) -> str:
    """The message of another library's error on one line, to be quoted in a message of ours."""
    return " ".join(str(error).split())[:300] or type(error).__name__


class HeadscopeError(Exception):
    """The base class: catch this to catch everything that headscope raises on purpose."""

    exit_code = 2


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
