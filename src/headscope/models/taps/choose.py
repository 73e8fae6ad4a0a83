"""How the tap of a model is chosen: by trying each, never by the model's name."""

from collections.abc import Callable

from transformers import PreTrainedModel

from headscope.errors import TapError
from headscope.models.taps.call import AttentionCall, Tap
from headscope.models.taps.function_mode import FunctionModeTap
from headscope.models.taps.interface import InterfaceTap
from headscope.models.taps.projection import ProjectionTap, linear_layer_patterns

REFUSED = {
    model_type: f"{name} attends in {how}: no map of all queries by all keys is ever computed"
    for model_type, name, how in (
        ("longformer", "Longformer", "overlapping windows plus a few global tokens"),
        ("led", "LED", "overlapping windows plus a few global tokens"),
        ("big_bird", "BigBird", "random, sliding and global blocks"),
        ("reformer", "Reformer", "hash buckets"),
    )
}
"""Families that do not compute the attention maps that headscope measures, with the reason."""


def choose_tap(
    model: PreTrainedModel, run: Callable[[], object], projection: str | None = None
) -> tuple[Tap, list[AttentionCall]]:
    """The first tap that reports any call while the model runs, and the calls.

    A family outside the interface only logs that it ignores the attention implementation it is
    given, so a tap that reports no calls is the wrong one.

    Args:
        model: The model.
        run: Runs it.
        projection: The pattern of the output projections, for the projection tap alone.
    """
    if reason := REFUSED.get(model.config.model_type):
        raise TapError(f"{reason}; analyse a model with full attention instead")
    if projection is not None:
        tap: Tap = ProjectionTap(model, projection)
        if calls := _calls(tap, run):
            return tap, calls
        raise TapError(f"the forward pass never calls {projection!r}; name another projection")
    tap = InterfaceTap(model)
    if calls := _calls(tap, run):
        return tap, calls
    model.set_attn_implementation("eager")
    tap = FunctionModeTap(model)
    if calls := _calls(tap, run):
        return tap, calls
    raise TapError(_refusal(model))


def _refusal(model: PreTrainedModel) -> str:
    patterns = linear_layer_patterns(model)
    endings = ("o_proj", "out_proj", "c_proj", "wo")
    example = next((name for name in patterns if name.endswith(endings)), "layers.*.attn.o_proj")
    message = (
        f"{type(model).__name__} uses neither transformers' attention interface nor an eager "
        "softmax that can be followed; if it calls scaled_dot_product_attention, name the layer "
        f"that joins the heads, for example projection={example!r} "
        f"(its linear layers: {', '.join(patterns)})"
    )
    implementation = model.config._attn_implementation
    if implementation not in ("eager", None):
        message += (
            f"; it runs with {implementation!r} and cannot be switched: if it has an eager path, "
            'load it with attn_implementation="eager"'
        )
    return message


def _calls(tap: Tap, run: Callable[[], object]) -> list[AttentionCall]:
    calls: list[AttentionCall] = []
    with tap.listen(calls.append):
        run()
    return calls
