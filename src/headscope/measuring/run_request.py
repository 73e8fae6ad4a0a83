"""What a run is asked for, checked as far as that goes without the model.

Nothing here imports torch: a mistake is refused, and a run that is finished found, at once.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headscope.errors import HeadscopeError, RunError, SettingsError, option, shortened
from headscope.measuring.windows import CorpusRequest, is_same_corpus
from headscope.models.source import files_hash, find_model, short_name
from headscope.runs.files import is_there
from headscope.runs.folder import REPORT, RESULTS
from headscope.runs.lock import is_being_written
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.manifest import SCHEMA, Manifest, computing_packages
from headscope.runs.own_files import refuse_foreign_folder
from headscope.runs.seal import is_sealed
from headscope.settings import MAX_NUMBER, SAMPLE_WINDOWS, Settings
from headscope.system.option_types import whole_number
from headscope.text.in_memory import TextsInMemory
from headscope.text.readers.hub import HUB_PREFIX
from headscope.text.readers.source_file import STANDARD_INPUT, as_unicode

LONGEST_NAME = 100
"""Of a run folder that is named after its model and corpus, in characters."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A model, a corpus, settings, and where the run goes."""

    model: Any
    """As `load_model` takes it, or loaded."""
    loading: Mapping[str, Any]
    """How the model is loaded."""
    corpus: CorpusRequest
    settings: Settings
    nulls: int
    """Number of windows that each untrained model reads."""
    null_seeds: int
    robustness: int
    """Number of windows that are measured under every analysis choice."""
    signal: bool
    """Whether signal and noise are measured on the same windows."""
    report: bool
    folder: Path

    def check(self) -> None:
        """Refuse sources that are not there, and a folder that holds something else."""
        self.corpus.check()
        refuse_foreign_folder(self.folder)
        if is_there(self.folder / MANIFEST, within=self.folder):
            self.refuse_another_run(Manifest.read(self.folder), [])

    def refuse_another_run(self, there: Manifest, more: list[str]) -> None:
        """Refuse to resume a run that was asked for differently.

        Args:
            there: The manifest in the folder.
            more: Other differences that are known.
        """
        different = list(more)
        if there.schema != SCHEMA:
            different.append(f"schema: {there.schema} / {SCHEMA}")
        ours, theirs = there.settings.to_json(), self.settings.to_json()
        different += [
            f"setting {name}: {ours[name]} / {theirs[name]}"
            for name in ours
            if ours[name] != theirs[name]
        ]
        texts, sample = there.corpus.texts_asked, there.corpus.sample
        if self.corpus.texts != texts:
            different.append(f"texts: {texts} / {self.corpus.texts}")
        elif sample != "all" and self.corpus.first != (sample == "first"):
            asked = "first" if self.corpus.first else "random"
            different.append(f"texts: {sample} / {asked}")
        if different:
            raise RunError(
                f"{self.folder} holds another run ({'; '.join(different)}); "
                f"choose another {option('out')}, or delete that folder"
            )

    def is_finished(self) -> bool:
        """Whether the folder holds just this run, finished and unchanged since."""
        folder = self.folder
        try:
            pages = [REPORT] if self.report else []
            there = all(is_there(folder / name, within=folder) for name in (RESULTS, *pages))
            if not there or is_being_written(folder):
                return False
            asked = self.asked()
            if asked is None or not is_sealed(folder, asked):
                return False
            return is_same_corpus(self.corpus, Manifest.read(folder).corpus)
        except (HeadscopeError, OSError):
            return False  # what is wrong is said when the run is resumed

    def asked(self) -> dict[str, Any] | None:
        """All of the request as JSON values; None if it cannot be known without the model.

        Model objects have no files, and standard input and the hub are read only once.
        """
        names = [source for source in self.corpus.sources if isinstance(source, str)]
        if any(name in STANDARD_INPUT or name.startswith(HUB_PREFIX) for name in names):
            return None
        if not isinstance(self.model, str | Path) or self.loading.get("tokenizer") is not None:
            return None
        code = {
            name: bool(self.loading.get(name, False))
            for name in ("allow_pickle", "trust_remote_code")
        }
        return {
            "model": files_hash(find_model(self.model, **code).path, **code),
            "loading": {"dtype": "float32", "device": "cpu", **dict(self.loading)},
            "settings": self.settings.to_json(),
            "columns": asdict(self.corpus.columns),
            "texts": self.corpus.texts,
            "first": self.corpus.first,
            "nulls": self.nulls,
            "null_seeds": self.null_seeds if self.nulls else 0,
            "robustness": self.robustness,
            "signal": self.signal,
            "packages": computing_packages(),
        }


def run_request(
    model: Any,
    corpus: CorpusRequest,
    settings: Settings,
    *,
    nulls: int,
    null_seeds: int,
    robustness: int | None,
    signal: bool | None,
    report: bool,
    out: str | Path | None,
    loading: Mapping[str, Any],
) -> RunRequest:
    """A request whose numbers make sense; `check` looks at files.

    Args:
        model: As `analyze` takes it.
        corpus: Which windows are asked for.
        settings: What is measured.
        nulls: Number of windows that each untrained model reads.
        null_seeds: Number of untrained models.
        robustness: Number of windows under every analysis choice; None for the default.
        signal: Whether signal and noise are measured; None for the default.
        report: Whether there is to be a report.
        out: The run folder; None for the default one.
        loading: How the model is loaded.
    """
    nulls, null_seeds = whole_number("nulls", nulls), whole_number("null seeds", null_seeds)
    texts = corpus.texts
    if nulls < 0:
        raise SettingsError(f"nulls: {nulls} is negative; 0 leaves the untrained models out")
    if nulls and null_seeds < 2:
        raise SettingsError(f"null seeds: {null_seeds} is too few; seeds vary: ask for 2 or more")
    if robustness is None:
        robustness = SAMPLE_WINDOWS if nulls and not settings.minimal else 0
    elif whole_number("robustness", robustness) < 0:
        raise SettingsError(f"robustness: {robustness} is negative; 0 leaves it out")
    for name, number in (("nulls", nulls), ("texts", texts or 0), ("robustness", robustness)):
        if number > MAX_NUMBER:
            raise SettingsError(f"{name}: {shortened(number, 40)} is too large; leave it out")
    if texts is not None and texts < 1:
        raise SettingsError(f"texts: {texts} is too few; ask for at least 1")
    return RunRequest(
        model,
        {name: value for name, value in loading.items() if value is not None},
        corpus,
        settings,
        nulls,
        null_seeds,
        robustness,
        not settings.minimal if signal is None else signal,
        report,
        Path(out) if out is not None else default_folder(_model_name(model), corpus),
    )


def default_folder(model_name: str, request: CorpusRequest, study: str | None = None) -> Path:
    """Where a run goes when no folder is named: runs/demo, runs/MODEL-CORPUS.

    A study has its name in front: runs/ablate-demo.

    Args:
        model_name: The name of the model, or its path.
        request: Names the corpus.
        study: The name of a study.
    """
    names = [Path(model_name).name]
    for source in request.sources:
        if isinstance(source, TextsInMemory):
            names.append(f"{source.kind}-{source.short_hash(request.columns)}")
        else:
            names.append(Path(source).name)
    if names == ["demo", "demo"]:
        names = ["demo"]
    if study is not None:
        names = [study, *names]
    name = re.sub(r"[^\w.-]+", "-", as_unicode("-".join(names))).strip("-.")
    return Path("runs") / name[:LONGEST_NAME]


def _model_name(model: Any) -> str:
    if isinstance(model, str | Path):
        try:
            folder = Path(model).expanduser()
            return short_name(folder.resolve()) if folder.is_dir() else str(model)
        except (OSError, ValueError, RuntimeError):
            return "model"  # which is refused when it is looked for
    origin = getattr(getattr(model, "config", None), "name_or_path", None)
    return str(getattr(model, "name", None) or origin or type(model).__name__)
