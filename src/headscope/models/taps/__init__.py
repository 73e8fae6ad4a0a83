"""Taps: three ways to read attention while a model runs, one file each, tried in this order.

1. `interface`: the family calls transformers' attention interface. Most do.
2. `function_mode`: it computes softmax and a product itself.
3. `projection`: the user names the output projection.
"""

from headscope.models.taps.call import AttentionCall, MassCall, OnCall, Tap
from headscope.models.taps.choose import choose_tap

__all__ = ["AttentionCall", "MassCall", "OnCall", "Tap", "choose_tap"]
