"""Progress of everything that takes more than a few seconds, shown on standard error."""

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

from headscope.system.terminal import visible


class Progress:
    """Receives what is being done and how far it has got. This one shows nothing."""

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the screen as it was."""

    def stage(self, name: str, total: int | None = None, done: int = 0) -> None:
        """Start a stage.

        Args:
            name: What is done, for people.
            total: Number of steps, where that is known.
            done: Number of steps that were done before.
        """

    def advance(self, steps: int = 1) -> None:
        """Report that some more steps of the stage are done."""

    def say(self, message: str, kind: str = "remark") -> None:
        """Report something that people should know, though the run goes on.

        Args:
            message: For people.
            kind: What kind of remark it is, for programs that read the log.
        """

    def note(self, event: str, **facts: object) -> None:
        """Report something for the log alone.

        Args:
            event: What happened.
            **facts: What else is written down.
        """


class ProgressBars(Progress):
    """A progress bar for each stage on standard error, with rate and time left.

    Bars are for people who watch: where standard error is not a terminal, only remarks are written.
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
        """Start a bar below the last one, which stays as it is."""
        if self._task is not None:
            self._bars.stop_task(self._task)
        self._task = self._bars.add_task(name, total=total, completed=done)

    def advance(self, steps: int = 1) -> None:
        """Move the newest bar."""
        if self._task is not None:
            self._bars.advance(self._task, steps)

    def say(self, message: str, kind: str = "remark") -> None:
        """Write a line above the bars."""
        line = f"headscope: {visible(' '.join(message.split()))}"
        self._bars.console.print(line, markup=False, highlight=False, soft_wrap=True)


class SeveralProgresses(Progress):
    """Passes everything on to several others, which are opened and closed with it."""

    def __init__(self, *others: Progress) -> None:
        self._others = others
        self._opened = ExitStack()

    def __enter__(self) -> "SeveralProgresses":
        for progress in self._others:
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
        """Start a stage in all of them."""
        for progress in self._others:
            progress.stage(name, total, done)

    def advance(self, steps: int = 1) -> None:
        """Advance all of them."""
        for progress in self._others:
            progress.advance(steps)

    def say(self, message: str, kind: str = "remark") -> None:
        """Pass a remark on to all of them."""
        for progress in self._others:
            progress.say(message, kind)

    def note(self, event: str, **facts: object) -> None:
        """Pass an event on to all of them."""
        for progress in self._others:
            progress.note(event, **facts)


class _Rate(ProgressColumn):
    """Recent steps per second."""

    def render(self, task: Task) -> Text:
        """The rate as text; a dash before there is one."""
        speed = task.finished_speed or task.speed
        return Text("-/s" if speed is None else f"{speed:,.1f}/s", style="progress.data.speed")
