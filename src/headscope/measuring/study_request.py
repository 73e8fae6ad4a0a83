"""What studies of a model and a corpus have in common before they run: options, corpus, model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headscope.errors import SettingsError
from headscope.measuring.run_windows import stage
from headscope.measuring.windows import CorpusRequest
from headscope.models.load import LoadOptions, load_model
from headscope.models.loaded import LoadedModel
from headscope.settings import SettingOptions, Settings, take_options
from headscope.system.progress import Progress
from headscope.text.in_memory import CorpusLike, corpus_sources
from headscope.text.readers.columns import ColumnOptions, Columns


class StudyOptions(LoadOptions, ColumnOptions, total=False):
    """The keywords of a study that its signature does not list."""

    window: int
    min_tokens: int
    layers: Sequence[int] | None
    seed: int
    keep_duplicates: bool
    shard_windows: int
    batch_tokens: int


def study_settings(options: Mapping[str, Any], *, shard_windows: int) -> Settings:
    """The settings that the keywords of a study ask for.

    Args:
        options: Of `StudyOptions`.
        shard_windows: Windows of a shard, unless asked otherwise.
    """
    given = take_options(options, SettingOptions)
    return Settings.of(**{"shard_windows": shard_windows, "minimal": True, **given})


def study_request(
    corpus: CorpusLike,
    texts: int | None,
    options: Mapping[str, Any],
    *,
    first: bool = False,
) -> CorpusRequest:
    """The windows that a study is asked for.

    Args:
        corpus: One or more sources, or texts in memory.
        texts: Number of windows; None for all.
        options: Of `StudyOptions`.
        first: Whether the first windows are taken, and not random ones.
    """
    if texts is not None and texts < 1:
        raise SettingsError(f"texts: {texts} is too few; ask for at least 1")
    columns = Columns.of(**take_options(options, ColumnOptions))
    return CorpusRequest(corpus_sources(corpus), texts, columns, first)


def load_with_head(
    model: str | Path | LoadedModel, options: Mapping[str, Any], progress: Progress
) -> LoadedModel:
    """The model, loaded with its own head unless it is loaded already.

    Args:
        model: A name or a folder, or a loaded model.
        options: Of `StudyOptions`.
        progress: Is told.
    """
    with stage("loading the model", progress):
        if isinstance(model, LoadedModel):
            return model
        return load_model(model, head=True, **take_options(options, LoadOptions))
