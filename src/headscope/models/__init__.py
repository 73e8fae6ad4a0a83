"""Models: load one, tap its attention heads, check the tap against the model's own arithmetic."""

from headscope.models.check.self_check import SelfCheck
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite, LayerCapture

__all__ = ["AttentionSite", "LayerCapture", "LoadedModel", "SelfCheck", "load_model"]
