"""How far a run has come, by its log, which anyone can read while the run goes on."""

import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from headscope.system.journal import LOG_NAME
from headscope.system.untrusted import open_untrusted

MOST_CHARACTERS = 1 << 20
"""The longest line that is read: a longer one is not ours."""
RECENT_S = 600.0
"""The rate is that of the last ten minutes: a machine may become slower, or workers more."""
LONGEST_S = 1e10
"""Three centuries: a longer estimate is not given."""
_FAULTLESS = ("remark", "duplicates", "finished", "interrupted")


@dataclass(frozen=True, slots=True)
class RunProgress:
    """What the log of a run says."""

    stage: str
    """What was being done at the last line."""
    done: int
    total: int | None
    rate: float | None
    """Steps of the stage per second; None before there is a rate."""
    last_sign: datetime
    """When the last line was written."""
    failures: Mapping[str, int]
    """What went wrong since the run was first started, by kind: worker lost, damaged shard, ..."""

    @property
    def left(self) -> timedelta | None:
        """How long the stage still takes; None where that cannot be said."""
        if self.total is None or not self.rate:
            return None
        seconds = (self.total - self.done) / self.rate
        return timedelta(seconds=seconds) if 0 <= seconds < LONGEST_S else None

    @property
    def end(self) -> datetime | None:
        """When the stage will end; None where that cannot be said."""
        return None if self.left is None else self.last_sign + self.left


def read_progress(folder: Path) -> RunProgress | None:
    """How far the run in a folder has come; None if it has no log."""
    failures: Counter[str] = Counter()
    points: list[tuple[float, int]] = []
    stage, total, last_sign = "", None, None
    for line in _lines(folder / LOG_NAME):
        try:
            last_sign = datetime.fromisoformat(line["time"])
            event, elapsed = line["event"], float(line["elapsed_s"])
            if event in ("stage", "progress"):
                stage, total, done = str(line["stage"]), line["total"], int(line["done"])
                points = _recent([*points, (elapsed, done)]) if event == "progress" else []
                points = points or [(elapsed, done)]
            elif event in ("said", "ended") and line["kind"] not in _FAULTLESS:
                failures[str(line["kind"])] += 1
        except (KeyError, ValueError, TypeError, OverflowError):
            continue  # not a line of ours
    if last_sign is None:
        return None
    return RunProgress(
        stage=stage,
        done=points[-1][1] if points else 0,
        total=total if isinstance(total, int) and abs(total) < 2**53 else None,
        rate=_rate(points),
        last_sign=last_sign,
        failures=dict(failures),
    )


def _recent(points: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """The points of the last minutes, without those of an earlier start of the run."""
    newest = points[-1][0]
    return [point for point in points if newest - RECENT_S <= point[0] <= newest]


def _rate(points: list[tuple[float, int]]) -> float | None:
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    (first_s, first), (last_s, last) = points[0], points[-1]
    return (last - first) / (last_s - first_s) or None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a log; the last one may be half-written at this moment."""
    try:
        opened = open_untrusted(path, within=path.parent)
    except OSError:
        return
    with io.TextIOWrapper(opened, encoding="utf-8", errors="replace") as file:
        while text := file.readline(MOST_CHARACTERS):
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(line, dict):
                yield line
