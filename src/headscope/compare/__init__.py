"""Models side by side: measures over relative depth, over training steps, and head by head.

Comparing runs needs no torch. In reading order: `comparison` (the tables), `rows` (a row per
stack), `quantities` (what is compared), `shared_documents` (the bootstrap), `remarks` (how the runs
differ otherwise). Checkpoints of a training: `training` (numbers over steps), `training_points`
(steps and seeds from names), `run_lens` (the lens study in a run's folder).
Matching heads runs both models: `match`, `head_features`, `debiased_cka`.
"""

from headscope.compare.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
