"""Models side by side: measures over relative depth, over training steps, and head by head.

What compares runs needs no torch. Matching heads runs both models: `headscope.compare.match`.
"""

from headscope.compare.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
