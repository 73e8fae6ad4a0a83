"""The choices that change numbers, as one value that a run's manifest records."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypedDict, Unpack, get_args

from headscope.errors import SettingsError, kind_of, shortened
from headscope.system.option_types import checked_options
from headscope.system.option_types import refuse_unknown_options as refuse_unknown_options
from headscope.system.option_types import take_options as take_options

SimilarityVariant = Literal["raw", "centred", "cosine"]
SIMILARITY_VARIANTS: tuple[SimilarityVariant, ...] = get_args(SimilarityVariant)
ColumnMass = Literal["counted", "paper"]
COLUMN_MASSES: tuple[ColumnMass, ...] = get_args(ColumnMass)


def similarity_variant(name: str) -> SimilarityVariant:
    """The variant of that name; any other name is refused.

    Args:
        name: `raw`, `centred` or `cosine`.
    """
    for variant in SIMILARITY_VARIANTS:
        if name == variant:
            return variant
    raise SettingsError(
        f"similarity: {name!r} is unknown; choose one of {', '.join(SIMILARITY_VARIANTS)}"
    )


@dataclass(frozen=True, slots=True)
class PairRule:
    """Which pairs of tokens count as highly similar.

    `top:0.01` takes the most similar 1 % of a window's pairs; `max:0.3` takes the pairs whose
    similarity is at least 0.3 of the largest one in the window. Pairs that tie with the last one
    taken are taken too, so that the choice does not depend on the order of the pairs.

    >>> rule = PairRule.parse("top:0.01")
    >>> rule.number_taken(pairs=8128)
    82
    """

    kind: Literal["top", "max"]
    value: float

    @classmethod
    def parse(cls, text: str) -> "PairRule":
        """The rule that a string stands for.

        Args:
            text: Such as `top:0.01` or `max:0.3`.
        """
        kind, _, number = text.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if kind not in ("top", "max") or not 0 < value <= 1:
            raise SettingsError(
                f"pairs: {text!r} is not a rule; write top:SHARE (such as top:0.01) "
                "or max:FRACTION (such as max:0.3), with a number above 0 and at most 1"
            )
        return cls("top" if kind == "top" else "max", value)

    def number_taken(self, pairs: int) -> int:
        """Number of pairs that a `top` rule takes.

        Args:
            pairs: Number of pairs of the window.
        """
        # The small slack keeps 0.07 * 100 at 7, where binary fractions give 7.000000000000001.
        return min(pairs, math.ceil(self.value * pairs - 1e-9))

    def __str__(self) -> str:
        return f"{self.kind}:{self.value:g}"


MAX_NUMBER = 2**31 - 1
"""The largest whole number of any setting."""

NULL_WINDOWS = 20
"""Default number of windows that each untrained model reads."""

NULL_SEEDS = 10
"""Default number of untrained models: random weights of as many seeds."""

SAMPLE_WINDOWS = 200
"""Default number of windows that are measured under every analysis choice. The untrained models
read windows of this sample, too."""

SUBSET_WINDOWS = 5000
"""Windows of a random subset of a run, for its stability, unless asked otherwise."""

MATCH_WINDOWS = 64
"""Windows on which heads of two models are matched, unless asked otherwise."""

ABLATION_WINDOWS = 64
"""Windows over which heads are switched off, unless asked otherwise."""

ABLATION_SHARD = 8
"""Windows of a shard of such a study: each takes as many passes as the model has heads."""

LENS_WINDOWS = 200
"""Windows over which layers are read through the model's head, unless asked otherwise."""

LENS_POSITIONS = 8
"""Scored positions of each: every layer takes each of them through the whole vocabulary."""

LENS_SHARD = 32
"""Windows of a shard of such a study."""

SWEEP_PAIRS: tuple[PairRule, ...] = (
    *(PairRule("top", share) for share in (0.002, 0.005, 0.01, 0.02, 0.05)),
    *(PairRule("max", fraction) for fraction in (0.1, 0.2, 0.3, 0.4, 0.5)),
)
"""The pair rules at which every run is measured besides its own."""

SWEEP_ATTENTION: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)
"""The attention thresholds at which every run is measured besides its own."""


class SettingOptions(TypedDict, total=False):
    """Settings as keywords of `analyze` and `look`; the defaults are those of `Settings`."""

    window: int
    min_tokens: int
    similarity: SimilarityVariant
    pairs: str
    attention_threshold: float
    special_tokens: bool
    column_mass: ColumnMass
    layers: Sequence[int] | None
    permutations: int
    minimal: bool
    seed: int
    keep_duplicates: bool
    shard_windows: int
    batch_tokens: int


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything besides model and corpus that changes the numbers of a run.

    >>> Settings.of(window=64, pairs="max:0.3").pairs
    PairRule(kind='max', value=0.3)
    >>> Settings.of(attention_threshold=2.0)
    Traceback (most recent call last):
    headscope.errors.SettingsError: attention threshold: 2.0 is not above 0 and at most 1
    """

    window_tokens: int = 128
    """Maximum number of tokens of a window, special tokens included."""
    min_tokens: int = 16
    """Windows with fewer tokens, special ones not counted, are left out."""
    similarity: SimilarityVariant = "raw"
    """How token vectors are compared: the context similarity matrix of the run."""
    pairs: PairRule = PairRule("top", 0.01)
    """Which pairs are high-similarity pairs."""
    attention_threshold: float = 0.3
    """A token whose scaled column mass reaches this is a high-attention token."""
    special_tokens: bool = False
    """Whether special tokens may form pairs and set the scale of the column mass."""
    column_mass: ColumnMass = "counted"
    """How column mass is scaled. `counted`: per query that can see the token, relative to the
    largest among the tokens that may form pairs (without the first token of a causal model).
    `paper`: column sums of A as they are, relative to the largest among all tokens."""
    layers: tuple[int, ...] | None = None
    """The layers that are measured, numbered from 1; None for all."""
    permutations: int = 64
    """Number of permutations of the labels, which show what chance gives; 0 for none."""
    minimal: bool = False
    """Whether only the run's own variant, pair rule and threshold are measured: no other variants,
    no sweep, no permutations, no profiles by distance."""
    seed: int = 0
    """Of everything random: which windows are drawn, and how labels are permuted."""
    keep_duplicates: bool = False
    """Whether copies of a document count as documents of their own, in intervals and verdicts."""
    shard_windows: int = 512
    """Number of windows of a shard, the unit that is written, resumed and merged."""
    batch_tokens: int = 1024
    """Maximum number of tokens, padding included, that go through the model at once."""

    @classmethod
    def of(cls, **options: Unpack[SettingOptions]) -> "Settings":
        """The settings that keywords ask for.

        Args:
            **options: What differs from the defaults.
        """
        values = checked_options(options, _JSON_TYPES)
        if "window" in values:
            values["window_tokens"] = values.pop("window")
        if "pairs" in values:
            values["pairs"] = PairRule.parse(values["pairs"])
        if values.get("layers") is not None:
            values["layers"] = tuple(values["layers"])
        return cls(**values)

    def __post_init__(self) -> None:
        similarity_variant(self.similarity)
        if self.column_mass not in COLUMN_MASSES:
            raise SettingsError(
                f"column mass: {self.column_mass!r} is unknown; choose one of "
                f"{', '.join(COLUMN_MASSES)}"
            )
        if not 0 < self.attention_threshold <= 1:
            raise SettingsError(
                f"attention threshold: {self.attention_threshold} is not above 0 and at most 1"
            )
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is int and abs(value) > MAX_NUMBER:
                name = field.name.replace("_", " ")
                raise SettingsError(f"{name}: {shortened(value, 40)} is too large")
        for name in ("shard_windows", "batch_tokens"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name.replace('_', ' ')}: must be at least 1")
        if self.permutations < 0 or self.seed < 0:
            raise SettingsError("permutations and seed: must not be negative")
        if self.layers is not None and (not self.layers or min(self.layers) < 1):
            raise SettingsError("layers: give numbers from 1 on, such as 1,6,11")

    @property
    def variants(self) -> list[SimilarityVariant]:
        """The similarity variants whose sums are kept."""
        return [self.similarity] if self.minimal else list(SIMILARITY_VARIANTS)

    @property
    def rules(self) -> list[PairRule]:
        """The pair rules that are measured, the run's own first."""
        return [self.pairs] if self.minimal else [self.pairs, *SWEEP_PAIRS]

    @property
    def every_rule(self) -> list[PairRule]:
        """The pair rules under which the sample of a run is judged, the run's own first."""
        return [self.pairs, *SWEEP_PAIRS]

    @property
    def attention_thresholds(self) -> list[float]:
        """The attention thresholds that are measured, the run's own first."""
        own = [self.attention_threshold]
        return own if self.minimal else [*own, *SWEEP_ATTENTION]

    @property
    def profiles(self) -> bool:
        """Whether similarity is summed by distance, for half distance and block contrast."""
        return not self.minimal

    @property
    def label_permutations(self) -> int:
        """Number of permutations of the labels in this run."""
        return 0 if self.minimal else self.permutations

    def to_json(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        return asdict(self) | {
            "pairs": str(self.pairs),
            "layers": None if self.layers is None else list(self.layers),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Settings":
        """Parse settings that `to_json` wrote, validating every value.

        Args:
            values: From a manifest, which may come from anywhere.
        """
        if not isinstance(values, dict):
            raise SettingsError("settings: not a JSON object")
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise SettingsError(
                f"settings: {', '.join(unknown)} unknown to this version of headscope; "
                "open the run with the version that made it, or a newer one"
            )
        for name, value in values.items():
            if type(value) not in _JSON_TYPES.get(name, (int,)):
                raise SettingsError(f"settings: {name} is {kind_of(value)}")
        layers = values.get("layers")
        if layers is not None and not all(type(layer) is int for layer in layers):
            raise SettingsError("settings: layers are whole numbers")
        return cls(
            **values
            | {
                "pairs": PairRule.parse(values["pairs"]),
                "layers": None if layers is None else tuple(layers),
            }
        )


_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "similarity": (str,),
    "column_mass": (str,),
    "pairs": (str,),
    "attention_threshold": (float, int),
    "special_tokens": (bool,),
    "minimal": (bool,),
    "keep_duplicates": (bool,),
    "layers": (list, type(None)),
}
"""The types that a setting may have in JSON; all others are whole numbers."""
