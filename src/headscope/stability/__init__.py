"""Stability: whether heads measure the same over other texts, from the rows of a run alone."""

from headscope.stability.compare_groups import GroupComparison
from headscope.stability.of_run import Domain, StabilityResult, domain_of, stability

__all__ = ["Domain", "GroupComparison", "StabilityResult", "domain_of", "stability"]
