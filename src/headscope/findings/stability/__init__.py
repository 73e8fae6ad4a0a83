"""Stability: whether heads measure the same over other windows, from the rows of a run alone."""

from headscope.findings.stability.compare_groups import GroupComparison
from headscope.findings.stability.stability import Domain, StabilityResult, domain_of, stability

__all__ = ["Domain", "GroupComparison", "StabilityResult", "domain_of", "stability"]
