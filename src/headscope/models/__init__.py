"""Models: load one, tap its attention heads, check the tap against the model's own arithmetic.

Names are looked up when they are used: where a model is (`source`) is found without torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.models.check.self_check import SelfCheck
    from headscope.models.load import load_model
    from headscope.models.loaded import LoadedModel
    from headscope.models.site import AttentionSite, LayerCapture

_HOMES = {
    "AttentionSite": "headscope.models.site",
    "LayerCapture": "headscope.models.site",
    "LoadedModel": "headscope.models.loaded",
    "SelfCheck": "headscope.models.check.self_check",
    "load_model": "headscope.models.load",
}

__all__ = ["AttentionSite", "LayerCapture", "LoadedModel", "SelfCheck", "load_model"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headscope.models' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
