"""Every error that a user can meet, as one tree.

A message says what is wrong, where, and what to do next. Commands print it on one line and end with
`exit_code`: 2 when the input was wrong, 1 when the run failed.
"""


def in_one_line(error: BaseException) -> str:
    """What an error of a library says, fit to stand inside a message of ours."""
    return " ".join(str(error).split())[:300] or type(error).__name__


class HeadscopeError(Exception):
    """The root: catch this to catch whatever headscope raises on purpose."""

    exit_code = 2


class CorpusError(HeadscopeError):
    """A corpus cannot be read, or holds nothing that can be analysed."""


class ModelError(HeadscopeError):
    """A model cannot be found or loaded."""


class TapError(HeadscopeError):
    """The head outputs of a model cannot be had, or do not pass the self-check."""


class SettingsError(HeadscopeError):
    """An option has a value that means nothing."""


class RunError(HeadscopeError):
    """A run folder is missing, damaged, or holds something else."""


class StorageError(RunError):
    """A run folder cannot be written: no space, no permission, no lock."""

    exit_code = 1


class MergeError(RunError):
    """Runs that do not belong together."""


class MeasurementError(HeadscopeError):
    """The model gave numbers that cannot be measured (NaN or infinity)."""

    exit_code = 1


class WorkerError(HeadscopeError):
    """Workers that die again and again, or never begin."""

    exit_code = 1
