"""Progress of anything that takes more than a few seconds, on standard error."""

from contextlib import ExitStack
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichBars
from rich.text import Text


class Progress:
    """Told what is being done and how far it got. This one keeps quiet."""

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the screen as it was found."""

    def stage(self, name: str, total: int | None = None, done: int = 0) -> None:
        """Begin something with `total` steps, `done` of them done before."""

    def advance(self, steps: int = 1) -> None:
        """Some steps of the stage are done."""

    def say(self, message: str, kind: str = "remark") -> None:
        """Something happened that people should know of, though the run goes on."""

    def note(self, event: str, **facts: object) -> None:
        """Something happened that only a log need know of."""


class ProgressBars(Progress):
    """A bar for each stage on standard error, with rate and time left.

    Bars are for people who watch: where standard error is no terminal, only what is said is
    written.
    """

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bars = RichBars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> "ProgressBars":
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def stage(self, name: str, total: int | None = None, done: int = 0) -> None:
        """Begin a bar below the last one, which is left as it stands."""
        if self._task is not None:
            self._bars.stop_task(self._task)
        self._task = self._bars.add_task(name, total=total, completed=done)

    def advance(self, steps: int = 1) -> None:
        """Move the newest bar."""
        if self._task is not None:
            self._bars.advance(self._task, steps)

    def say(self, message: str, kind: str = "remark") -> None:
        """A line of its own, above the bars."""
        line = f"headscope: {' '.join(message.split())}"
        self._bars.console.print(line, markup=False, highlight=False, soft_wrap=True)


class SeveralProgresses(Progress):
    """Tells all of several what it is told. They are opened and closed with it."""

    def __init__(self, *told: Progress) -> None:
        self._told = told
        self._opened = ExitStack()

    def __enter__(self) -> "SeveralProgresses":
        for progress in self._told:
            self._opened.enter_context(progress)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._opened.__exit__(kind, error, traceback)

    def stage(self, name: str, total: int | None = None, done: int = 0) -> None:
        """Begin a stage everywhere."""
        for progress in self._told:
            progress.stage(name, total, done)

    def advance(self, steps: int = 1) -> None:
        """Go on everywhere."""
        for progress in self._told:
            progress.advance(steps)

    def say(self, message: str, kind: str = "remark") -> None:
        """Say it everywhere."""
        for progress in self._told:
            progress.say(message, kind)

    def note(self, event: str, **facts: object) -> None:
        """Note it everywhere."""
        for progress in self._told:
            progress.note(event, **facts)


class _Rate(ProgressColumn):
    """Steps a second, measured over the last ones."""

    def render(self, task: Task) -> Text:
        """The rate as text; a dash before there is one."""
        speed = task.finished_speed or task.speed
        return Text("-/s" if speed is None else f"{speed:,.1f}/s", style="progress.data.speed")
