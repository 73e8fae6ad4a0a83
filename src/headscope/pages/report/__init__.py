"""The report: one self-contained HTML page about a run. No torch in here."""

from headscope.pages.report.page import Report, write_report

__all__ = ["Report", "write_report"]
