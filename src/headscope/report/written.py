"""A report that was written: a file, which notebooks show."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.notebook import MimeBundle, notebook_bundle


@dataclass(frozen=True, slots=True)
class Report(os.PathLike[str]):
    """The file of a report. It can be opened like a path, and shows itself in notebooks."""

    path: Path

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def _repr_mimebundle_(self, **_: Any) -> MimeBundle:
        return notebook_bundle(repr(self), "widget_report", self._html)

    def _html(self) -> str:
        return self.path.read_text(encoding="utf-8")
