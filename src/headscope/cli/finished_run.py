"""The run that a command asks for, if it is finished; without torch, so that it answers at once.

Input that can be seen to be wrong is refused here, too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.measuring.run_request import run_request
from headscope.measuring.windows import CorpusRequest
from headscope.run import Run, open_run
from headscope.settings import SettingOptions, Settings, take_options
from headscope.text.readers.columns import ColumnOptions, Columns


def finished_run(options: Mapping[str, Any], *, report: bool, out: Path | None) -> Run | None:
    """The run that is asked for, if it is finished.

    Args:
        options: The keywords of `analyze`.
        report: Whether there is to be a report.
        out: The run folder; None for the default one.
    """

    columns = Columns.of(**take_options(options, ColumnOptions))
    request = run_request(
        options["model"],
        CorpusRequest(options["corpus"], options["texts"], columns, options["first"]),
        Settings.of(**take_options(options, SettingOptions)),
        **{name: options[name] for name in ("nulls", "null_seeds", "robustness", "signal")},
        report=report,
        out=out,
        loading={
            name: options[name] for name in ("dtype", "device", "allow_pickle", "trust_remote_code")
        },
    )
    request.check()
    return open_run(request.folder) if request.is_finished() else None
