"""When a run has nothing that a figure could show."""

from headscope.errors import RunError


class NothingToDraw(RunError):
    """The figure is left out; the message says why."""
