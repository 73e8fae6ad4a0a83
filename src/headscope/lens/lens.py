"""What each layer of a model knows: the verb."""

from contextlib import ExitStack
from pathlib import Path
from typing import Unpack

from headscope.errors import ModelError, SettingsError, option
from headscope.findings.lens.head_table import write_head_table
from headscope.lens.result import Lens
from headscope.lens.study import LensStudy
from headscope.lens.summarise import guesses_result, trees_result, words_result
from headscope.lens.tree_study import TreeStudy
from headscope.lens.words import WordStudy
from headscope.measuring.outcome import Outcome
from headscope.measuring.run_windows import default_folder, stage
from headscope.measuring.study import run_study
from headscope.measuring.study_request import (
    StudyOptions,
    load_with_head,
    study_request,
    study_settings,
)
from headscope.models.loaded import LoadedModel
from headscope.models.own_head import OwnHead
from headscope.settings import (
    LENS_POSITIONS,
    LENS_SHARD,
    LENS_WINDOWS,
    refuse_unknown_options,
)
from headscope.system.progress import Progress, ProgressBars
from headscope.text.in_memory import CorpusLike


def lens(
    model: str | Path | LoadedModel = "demo",
    corpus: CorpusLike = "demo",
    *,
    texts: int | None = LENS_WINDOWS,
    first: bool = False,
    positions: int | None = LENS_POSITIONS,
    whole_words: bool = False,
    probe: str | None = None,
    heads: bool = False,
    out: str | Path | None = None,
    progress: bool | Progress = True,
    log: str | Path | None = None,
    **options: Unpack[StudyOptions],
) -> Lens:
    """What each layer of a language model guesses, over a corpus, through the model's own head.

    The states of every layer at scored positions go through all that the model does after its last
    layer. Causal models guess the next token; masked ones hidden tokens (15 %, fixed by the seed)
    and, apart, tokens that they see; encoder-decoders what they write themselves. The same call
    resumes an interrupted one.

    Args:
        model: A hub id or a local folder, which are loaded with their head; or a model from
            `hs.load_model(..., head=True)`.
        corpus: One or more of `demo`, a file, a folder, `-` for standard input, `hf:NAME`; or texts
            in memory.
        texts: Number of windows, drawn at random over the corpus; None for all.
        first: Whether to take the first windows instead.
        positions: Maximum number of scored positions of a window, drawn at random; None for all.
        whole_words: Whether masked language models have whole words hidden, and not tokens.
        probe: `tokens`: layers are also read through affine maps to the last layer's states, which
            are fitted on other documents and kept in the folder (`probe.safetensors`). `words`:
            what layers hold of parts of speech, instead, for any model, on a corpus that marks
            them. `distances`: what they hold of distances in dependency trees, likewise.
        heads: Whether to measure, too, what each layer's guess loses without each of its heads.
        out: The folder of the study (default: one in `runs/`).
        progress: Whether to show progress on standard error, or an object that receives it.
        log: A file to which every event is appended as a line of JSON.
        **options: `window`, `min_tokens`, `layers`, `seed`, `keep_duplicates`, `shard_windows`,
            `batch_tokens` (see `headscope.settings.Settings`); how the model is loaded (`dtype`,
            `device`, `allow_pickle`, `trust_remote_code`); which columns of tables are read.
    """
    refuse_unknown_options("lens", options, StudyOptions)
    if positions is not None and positions < 1:
        raise SettingsError(f"positions: {positions} is too few; ask for at least 1")
    if probe not in (None, "tokens", "words", "distances"):
        raise SettingsError(f"probe: {probe!r} is unknown; choose tokens, words or distances")
    if heads and probe in ("words", "distances"):
        raise SettingsError(
            f"heads: a probe of {probe} has no guesses to lose; leave one of them out"
        )
    settings = study_settings(options, shard_windows=LENS_SHARD)
    request = study_request(corpus, texts, options, first=first)
    with ExitStack() as stack:
        reported = ProgressBars() if progress is True else progress or Progress()
        stack.enter_context(reported)
        loaded = load_with_head(model, options, reported)
        loaded.sites_of(settings.layers)
        head = OwnHead(loaded)
        folder = Path(out) if out is not None else default_folder(loaded.name, request, "lens")
        study: LensStudy | WordStudy | TreeStudy
        if probe == "words":
            study = WordStudy(head, request, settings)
        elif probe == "distances":
            study = TreeStudy(head, settings)
        elif head.predicts:
            outcome = Outcome(loaded, settings.seed, whole_words=whole_words)
            study = LensStudy(
                outcome, head, settings, positions, probe=probe is not None, heads=heads
            )
        else:
            raise ModelError(_no_guesses(loaded.name, heads=heads))
        table = run_study(study, loaded, request, settings, folder, progress=reported, log=log)
        with stage("resampling", reported):
            if isinstance(study, WordStudy):
                result = words_result(study, table, settings, str(request))
            elif isinstance(study, TreeStudy):
                result = trees_result(study, table, settings, str(request))
            else:
                result = guesses_result(study, table, settings, str(request), positions)
            if result.head_effects is not None:
                write_head_table(table.run.path, result.head_effects.table)
            table.write_result(result.to_json())
        return result


def _no_guesses(name: str, *, heads: bool) -> str:
    refusal = (
        f"{name} has no head that predicts tokens, so its layers guess nothing; choose a language "
        "model (causal, masked or encoder-decoder), or "
    )
    if heads:
        return f"{refusal}see with headscope ablate what its states lose without each head"
    return (
        f"{refusal}pass {option('probe', 'words')} to see what its layers hold of parts of speech, "
        f"{option('probe', 'distances')} of dependency trees"
    )
