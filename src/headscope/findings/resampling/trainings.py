"""Several trainings of one model, pooled: intervals that cover other seeds as well as documents.

The seed of a training decides its first weights and the order of its texts. Seeds are a random
effect: other seeds would have given other numbers. All that is asked of a training (values at
steps, differences between steps) is pooled with the same draws, so that what a seed does to all
steps alike cancels in their differences.
"""

import numpy as np
from jaxtyping import Float64

Trainings = Float64[np.ndarray, "training step sample"]
"""A number of each training at each step: in the run itself (first), then in bootstrap samples of
documents, the same documents for all."""


def pool_trainings(
    samples: Trainings, *, expanded: float = 1.0, seed: int = 0
) -> Float64[np.ndarray, "step sample"]:
    """The mean over trainings; its samples vary with documents and, given two or more, with seeds.

    The error of the mean that seeds cause is drawn: a random combination of what each seed deviates
    by, all steps together, scaled by the square root of (n - 1) / chi-squared, since n seeds give
    their own variance only roughly. At each step, and for each difference between steps, that is
    Student's distribution with n - 1 degrees of freedom. What documents do to one seed and not to
    another counts twice, here and in the bootstrap, so that intervals are rather too wide.

    Args:
        samples: Of each training.
        expanded: How many times as wide as percentiles intervals will be made, for their number of
            documents. Errors of seeds have tails of their own: they are made smaller by as much.
        seed: Of the errors drawn.
    """
    n = len(samples)
    pooled: Float64[np.ndarray, "step sample"] = samples.mean(axis=0)
    if n < 2:
        return pooled
    rng = np.random.default_rng(seed)
    drawn = pooled.shape[1] - 1
    scale = np.sqrt((n - 1) / rng.chisquare(n - 1, size=drawn))
    weights = rng.standard_normal((n, drawn)) * scale / np.sqrt(n * (n - 1)) / expanded
    deviations = samples[:, :, 0] - samples[:, :, 0].mean(axis=0)
    pooled[:, 1:] += np.einsum("ts,td->sd", deviations, weights)
    return pooled
