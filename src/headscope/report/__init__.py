"""The report: one self-contained HTML page about a run. No torch in here."""

from headscope.report.written import Report

__all__ = ["Report"]
