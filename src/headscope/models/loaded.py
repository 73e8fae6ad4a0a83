"""A loaded model: its attention sites, and forward passes whose attention is captured.

Given token ids and a mask; calls a function with the head outputs of each requested site while the
model runs, and stops the model after the last one.
"""

import copy
import inspect
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import PretrainedConfig, PreTrainedModel

from headscope.errors import SettingsError, TapError
from headscope.models.check.discover import discover_sites
from headscope.models.check.probe import Inputs, Modality, modality_of, padding_id, probe_of
from headscope.models.check.self_check import SelfCheck, check_tap
from headscope.models.gated import GatedModel
from headscope.models.linear_maps import make_quick, quick_linear_maps
from headscope.models.quiet import quiet_loading
from headscope.models.site import AttentionSite, LayerCapture, MassCapture, sites_in_words
from headscope.models.smaller import like_smaller
from headscope.models.taps import AttentionCall, MassCall, OnCall, choose_tap
from headscope.models.text_inputs import TextInputs
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.models.weight_hash import weights_hash
from headscope.runs.manifest import reads_shifted
from headscope.system.threads import on_threads

OnLayer = Callable[[LayerCapture], None]
OnMass = Callable[[MassCapture], None]


class LoadedModel(GatedModel, TextInputs):
    """A transformer whose attention is tapped and checked. Made by `load_model`."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: HeadscopeTokenizer | None,
        *,
        name: str,
        path: Path | None = None,
        revision: str | None = None,
        projection: str | None = None,
    ) -> None:
        super().__init__()
        self.model: PreTrainedModel = model.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = tokenizer
        self.name = name
        self.path = path
        self.revision = revision
        self.modality: Modality = modality_of(model)
        self.projection = projection
        # No key-value cache, where the family has one.
        cached = "use_cache" in inspect.signature(model.forward).parameters
        self._options = {"use_cache": False} if cached else {}
        self._padding_id = padding_id(model)
        probe = probe_of(model)
        # Quiet, since a family outside the interface logs that it was asked to change. On one
        # thread, since over a dozen tokens threads mostly wait for each other: on a busy machine
        # that is fifty times slower.
        with quiet_loading(), on_threads(1):
            self._tap, calls = choose_tap(model, lambda: self._run(probe.padded), projection)
            self.sites = discover_sites(model, self._tap.tier, calls)
            self.check: SelfCheck = check_tap(model, self._tap, self.sites, probe, self._run)
            if self.modality == "text":
                make_quick(model, lambda: self._run(probe.padded)[0], self.check.tolerance)
        self._shifted_stacks = [name for name in self.stacks if reads_shifted(self.stacks, name)]

    def __repr__(self) -> str:
        return f"LoadedModel({self.name}: {sites_in_words(self.sites)})"

    @property
    def config(self) -> PretrainedConfig:
        """The model's configuration."""
        return self.model.config

    @property
    def stacks(self) -> tuple[str, ...]:
        """Names of the attention stacks, in the order in which they first run."""
        return tuple(dict.fromkeys(site.stack for site in self.sites))

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights."""
        return self.model.dtype

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.model.device

    @property
    def n_parameters(self) -> int:
        """Number of weights; shared ones count once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def sites_of(self, layers: Collection[int] | None) -> tuple[AttentionSite, ...]:
        """The sites of some layers, in all stacks.

        Args:
            layers: Numbered from 1; None for all.
        """
        if layers is None:
            return self.sites
        deepest = max(site.layer for site in self.sites)
        if unknown := [layer for layer in layers if layer > deepest]:
            raise SettingsError(
                f"layers: {self.name} has layers 1 to {deepest}, not {', '.join(map(str, unknown))}"
            )
        return tuple(site for site in self.sites if site.layer in layers)

    @property
    def padding_id(self) -> int:
        """What stands in the place of padding."""
        return self._padding_id

    @property
    def call_options(self) -> dict[str, Any]:
        """What to pass whenever the model is called for one pass over whole texts."""
        return dict(self._options)

    def reads_shifted(self, stack: str) -> bool:
        """Whether query i of a stack is at token i - 1, after a start token: see `decoder_inputs`.

        Args:
            stack: The name of a stack.
        """
        return stack in self._shifted_stacks

    def listen(self, on_call: OnCall) -> AbstractContextManager[None]:
        """While open, attention calls of this thread are passed to `on_call`; all layers run."""
        return self._tap.listen(on_call)

    def in_pieces(self) -> AbstractContextManager[None]:
        """While open, this thread computes attention in pieces, where that gives the same."""
        return self._tap.in_pieces()

    @cached_property
    def weights_hash(self) -> str:
        """SHA-256 of the weights as loaded."""
        return weights_hash(self.model)

    def forward(
        self,
        token_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"] | Bool[Tensor, "batch token"],
        on_layer: OnLayer,
        *,
        sites: Collection[AttentionSite] | None = None,
    ) -> None:
        """Run the model and call `on_layer` at each requested site, in order.

        Nothing after the last requested attention is computed.

        Args:
            token_ids: The windows, padded on the right. Ids of padding are replaced by the model's
                own padding id.
            attention_mask: 1 for tokens, 0 for padding.
            on_layer: Called with head outputs and attention maps.
            sites: The sites requested; all for None.
        """
        self.forward_inputs(self._text_inputs(token_ids, attention_mask), on_layer, sites=sites)

    def forward_mass(
        self,
        token_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"] | Bool[Tensor, "batch token"],
        on_layer: OnMass,
        *,
        sites: Collection[AttentionSite] | None = None,
        queries: Bool[Tensor, "batch token"] | None = None,
    ) -> None:
        """The same as `forward` with column mass instead of maps: cheaper, also for long windows.

        May run in several threads at once.

        Args:
            token_ids: The windows, padded on the right.
            attention_mask: 1 for tokens, 0 for padding.
            on_layer: Called with head outputs and column mass.
            sites: The sites requested; all for None.
            queries: The tokens whose attention is added up as mass; None for all real ones.
        """
        follow = self._follow(
            sites, lambda site, call: on_layer(MassCapture(site, call.head_output, call.mass))
        )
        if follow is not None:
            real = (attention_mask if queries is None else queries).to(self.device).bool()
            with quick_linear_maps():
                self._capture(
                    self._tap.listen_to_mass(follow, real),
                    self._text_inputs(token_ids, attention_mask),
                )

    def forward_states(
        self,
        token_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"] | Bool[Tensor, "batch token"],
        on_layer: OnMass,
        *,
        sites: Collection[AttentionSite] | None = None,
    ) -> Float[Tensor, "batch token d_model"]:
        """The last hidden states: `forward_mass` over at least one site, to the model's end."""
        follow = self._follow(
            sites,
            lambda site, call: on_layer(MassCapture(site, call.head_output, call.mass)),
            to_the_end=True,
        )
        assert follow is not None
        with self._tap.listen_to_mass(follow, attention_mask.to(self.device).bool()):
            return self.last_states(token_ids, attention_mask)

    def forward_inputs(
        self, inputs: Inputs, on_layer: OnLayer, *, sites: Collection[AttentionSite] | None = None
    ) -> None:
        """The same as `forward`, for the inputs of any model.

        Args:
            inputs: By the names that the model gives them: pixel_values, input_features, ...
            on_layer: Called with head outputs and attention maps.
            sites: The sites requested; all for None.
        """
        follow = self._follow(
            sites, lambda site, call: on_layer(LayerCapture(site, call.head_output, call.attention))
        )
        if follow is not None:
            self._capture(self._tap.listen(follow), inputs)

    def last_states(
        self,
        token_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"] | Bool[Tensor, "batch token"],
    ) -> Float[Tensor, "batch token d_model"]:
        """The last hidden state of each token: that of the encoder, where the model has one.

        Args:
            token_ids: The windows, padded on the right.
            attention_mask: 1 for tokens, 0 for padding.
        """
        body: Any = self.model.base_model
        if self.config.is_encoder_decoder:
            body = body.get_encoder()
        with torch.inference_mode(), quick_linear_maps():
            output = body(**self.encoder_inputs(token_ids, attention_mask), **self._options)
        states: Float[Tensor, "batch token d_model"] = output.last_hidden_state
        return states

    def _follow(
        self,
        sites: Collection[AttentionSite] | None,
        on_site: Callable[[AttentionSite, Any], None],
        *,
        to_the_end: bool = False,
    ) -> Callable[[AttentionCall | MassCall], None] | None:
        """A function that passes calls of requested sites on to `on_site`; None without sites."""
        requested = set(self.sites if sites is None else sites)
        if not requested <= set(self.sites):
            raise TapError(f"{self.name} has no such attention site: {requested - set(self.sites)}")
        if not requested:
            return None
        last = max(index for index, site in enumerate(self.sites) if site in requested)
        calls = iter(enumerate(self.sites))

        def on_call(call: AttentionCall | MassCall) -> None:
            index, site = next(calls)
            if call.name != site.name:
                raise TapError(
                    f"{self.name} ran attention {call.name!r} where {site.name!r} was expected: "
                    "its layers do not always run in the same order, which headscope cannot follow"
                )
            if site in requested:
                on_site(site, call)
            if index == last and not to_the_end:
                raise _LastAttentionDone

        return on_call

    def _capture(self, listening: AbstractContextManager[None], inputs: Inputs) -> None:
        try:
            with listening:
                self._run(inputs)
        except _LastAttentionDone:
            return
        raise TapError(f"{self.name} ran fewer attention layers than when it was loaded")

    def untrained(self, seed: int) -> "LoadedModel":
        """The same model with random weights, by the family's own initialisation.

        Args:
            seed: Of the random weights.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            fresh = type(self.model)._from_config(  # type: ignore[no-untyped-call]
                copy.deepcopy(self.config), dtype=self.dtype, attn_implementation="eager"
            )
        like_smaller(fresh, self.model)
        return LoadedModel(
            fresh.to(self.device),
            self.tokenizer,
            name=f"{self.name} (untrained, seed {seed})",
            projection=self.projection,
        )

    def _run(self, inputs: Inputs) -> Any:
        with torch.inference_mode():
            return self.model(**inputs, **self._options)


class _LastAttentionDone(Exception):
    """Raised inside the model to leave it after the last requested attention."""
