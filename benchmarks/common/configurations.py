"""What is measured, and in which ways, as plain values: nothing here imports torch.

The process that gives out turns imports this, and takes neither memory nor a core from the workers.
"""

from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Configuration:
    """A model, with the windows that it reads unless others are asked for."""

    name: str
    window_tokens: int = 128
    texts: int = 64
    from_models: bool = False
    """Whether it is a checkpoint in the folder of models."""


CONFIGURATIONS = {
    made.name: made
    for made in (
        Configuration("demo"),
        Configuration("base"),
        Configuration("bert12", from_models=True),
        Configuration("smollm2", window_tokens=2048, texts=4, from_models=True),
    )
}


@dataclass(frozen=True)
class Way:
    """A way of reading windows, measured in a process of its own."""

    title: str
    ours: bool = False
    package: str | None = None
    """A package it needs that does not come with headscope."""

    @property
    def is_installed(self) -> bool:
        """Whether the package is there; found without importing it."""
        return self.package is None or find_spec(self.package) is not None


BARE = "bare"
WAYS = {
    BARE: Way("bare", ours=True),
    "everything": Way("headscope, everything", ours=True),
    "minimal": Way("headscope, minimal", ours=True),
    "run": Way("whole run, everything", ours=True),
    "minimal-run": Way("whole run, minimal", ours=True),
    "torch": Way("by hand, torch"),
    "nnsight": Way("nnsight, NumPy", package="nnsight"),
    "lens": Way("TransformerLens, NumPy", package="transformer_lens"),
    "numpy": Way("by hand, NumPy"),
}
"""In the order of their turns, and of the columns of the tables in README.md."""
