"""How far similarity, and the use of context, extend in long texts: a model and a corpus in."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from headscope.errors import SettingsError
from headscope.findings.reach.result import ReachResult
from headscope.measuring.run_windows import default_folder, stage
from headscope.measuring.study import run_study
from headscope.models.load import LoadOptions, load_model
from headscope.models.loaded import LoadedModel
from headscope.reach.draw import DrawnRequest
from headscope.reach.measure import reach_sites
from headscope.reach.plan import ReachPlan, edges_of
from headscope.reach.study import ReachStudy
from headscope.settings import Settings, refuse_unknown_options, take_options
from headscope.system.progress import Progress, ProgressBars, SeveralProgresses
from headscope.text.readers.columns import ColumnOptions, Columns
from headscope.text.windows import check_window_settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULTS = ReachPlan()


class ReachOptions(LoadOptions, ColumnOptions, total=False):
    """The keywords of `reach` beyond those of its signature."""


class Reach(ReachResult):
    """The result of `reach`, with its figures."""

    def figure(self, name: str) -> "Figure":
        """A figure: `reach-curves`, `reach-map` or `reach-use`.

        Args:
            name: Of the figure.
        """
        from headscope.pages.figures.reach import draw_reach

        return draw_reach(name, self)

    def write_figures(self, folder: str | Path) -> list[Path]:
        """Write all figures that there is something to show in, as PNG, SVG and PDF.

        Args:
            folder: Where they go.
        """
        from headscope.pages.figures.reach import write_reach_figures

        return write_reach_figures(self, Path(folder))


def reach(
    model: str | Path | LoadedModel = "demo",
    corpus: str | Path | Sequence[str | Path] = "demo",
    *,
    window: int = DEFAULTS.window_tokens,
    windows: int = DEFAULTS.windows,
    distances: str | Sequence[int] | None = None,
    layers: Sequence[int] | None = None,
    skip: Sequence[str] = (),
    untrained: int = DEFAULTS.untrained,
    seed: int = DEFAULTS.seed,
    out: str | Path | None = None,
    progress: bool | Progress = True,
    **options: Unpack[ReachOptions],
) -> Reach:
    """How far similarity, and the use of context, extend in the texts of a corpus.

    One window of each of some documents is read as it is and spliced with that of another document.
    The excess of similarity in the intact text, by distance, is what the text holds together. An
    unfinished folder is resumed by the same call.

    Args:
        model: `demo`, a hub id, a local folder, or a model from `hs.load_model` (with `head=True`,
            if its loss is to be measured).
        corpus: One or more of `demo`, a file, a folder, `-` for standard input, `hf:NAME`.
        window: Length of a window, special tokens included; shorter documents are not read.
        windows: Maximum number of windows, each from another document. Fewer than 20 answer
            nothing.
        distances: Edges of the bins of distance, such as `1,8,64` (default: two to an octave).
        layers: Numbered from 1 (default: all).
        skip: What is left out: `shuffled` (the same sentences in random order), `use` (context
            replaced), `repeats` (planted phrases), `untrained`.
        untrained: Number of untrained models.
        seed: Of everything random.
        out: The folder (default: one in `runs/`, named after model and corpus).
        progress: Whether to show progress on standard error, or an object that receives it.
        **options: How the model is loaded: `dtype`, `device`, `allow_pickle`, `trust_remote_code`.
            Which columns of tables are read: `text_column`, `id_column`, `label_column`.
    """
    refuse_unknown_options("reach", options, ReachOptions)
    plan = ReachPlan(
        window_tokens=window,
        windows=windows,
        edges=edges_of(distances),
        layers=None if layers is None else tuple(layers),
        skip=tuple(skip),
        untrained=untrained,
        seed=seed,
    )
    sources = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    with ExitStack() as stack:
        shown = ProgressBars() if progress is True else progress or Progress()
        reported = stack.enter_context(SeveralProgresses(shown))
        with stage("loading the model", reported):
            loading = take_options(options, LoadOptions)
            # With its head, if it has one: the loss is how a causal model shows what it uses.
            loaded = (
                model if isinstance(model, LoadedModel) else load_model(model, head=True, **loading)
            )
        settings = _settings(loaded, plan)
        request = DrawnRequest(
            tuple(str(source) for source in sources),
            columns=Columns.of(**take_options(options, ColumnOptions)),
            tokenizer=loaded.tokenizer,
            window_tokens=window,
            windows=windows,
            seed=seed,
        )
        study = ReachStudy(loaded, reach_sites(loaded, plan.layers), plan)
        folder = Path(out) if out is not None else default_folder(loaded.name, request, "reach")
        table = run_study(study, loaded, request, settings, folder, progress=reported)
        evidence = study.evidence(table.windows, table.cells)
        about = {
            "folder": str(folder),
            "model": loaded.name,
            "corpus": list(map(str, sources)),
            "window": window,
            "documents": 2 * evidence.units,
            "seed": seed,
            "distances": list(plan.edges),
            "left_out": len(table.left_out),
        }
        result = Reach(evidence, about)
        with stage("adding up", reported):
            table.write_result(result.to_json())
        return result


def _settings(model: LoadedModel, plan: ReachPlan) -> Settings:
    """How windows are cut: of full length alone; a pair is a batch and a shard."""
    if model.tokenizer is None:
        raise SettingsError(f"{model.name} reads no text: reach measures models of text")
    special = len(model.tokenizer.prefix_ids) + len(model.tokenizer.suffix_ids)
    body = plan.window_tokens - special
    check_window_settings(
        model.tokenizer, window_tokens=plan.window_tokens, min_tokens=max(body, 2)
    )
    return Settings.of(
        window=plan.window_tokens,
        min_tokens=body,
        layers=plan.layers,
        seed=plan.seed,
        batch_tokens=2 * plan.window_tokens,
        shard_windows=2,
        permutations=0,
    )
