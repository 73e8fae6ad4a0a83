"""The weights that come with headscope: sentences and topics of the demo model; see README.md."""

from pathlib import Path

DEMO_WEIGHTS = Path(__file__).parent
"""Their folder, written by `tools/fit_demo_segmenter.py` and `tools/fit_demo_topics.py`."""
