"""See and measure what every attention head of a transformer writes.

    import headscope as hs

    run = hs.analyze("demo", "demo")     # or a model and a corpus of yours
    run.heads                            # a row per layer and head, a column per measure
    hs.look("demo", "Some text.")        # one text, with every matrix

Names are looked up when they are used: `import headscope` brings in neither torch nor
transformers.
"""

import sys
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.analyze import analyze
    from headscope.compare.comparison import Comparison, compare
    from headscope.compare.match import match_heads
    from headscope.errors import HeadscopeError
    from headscope.findings.stability import StabilityResult
    from headscope.intervene.ablate import Ablation, ablate
    from headscope.intervene.prune import prune
    from headscope.intervene.pruning import Pruning
    from headscope.lens.lens import lens
    from headscope.lens.result import Lens
    from headscope.look.look import look
    from headscope.look.view import View
    from headscope.merge import merge
    from headscope.models.load import load_model
    from headscope.reach.reach import reach
    from headscope.run import Run, open_run
    from headscope.segment.segmenter import Segmenter

__version__ = version("headscope")

_HOMES = {
    "Ablation": "headscope.intervene.ablate",
    "Comparison": "headscope.compare",
    "HeadscopeError": "headscope.errors",
    "Lens": "headscope.lens.result",
    "Pruning": "headscope.intervene.pruning",
    "Run": "headscope.run",
    "Segmenter": "headscope.segment.segmenter",
    "StabilityResult": "headscope.findings.stability",
    "View": "headscope.look.view",
    "ablate": "headscope.intervene.ablate",
    "analyze": "headscope.analyze",
    "compare": "headscope.compare",
    "lens": "headscope.lens.lens",
    "load_model": "headscope.models.load",
    "look": "headscope.look.look",
    "match_heads": "headscope.compare.match",
    "merge": "headscope.merge",
    "open_run": "headscope.run",
    "prune": "headscope.intervene.prune",
    "reach": "headscope.reach.reach",
}

__all__ = [
    "Ablation",
    "Comparison",
    "HeadscopeError",
    "Lens",
    "Pruning",
    "Run",
    "Segmenter",
    "StabilityResult",
    "View",
    "__version__",
    "ablate",
    "analyze",
    "compare",
    "lens",
    "load_model",
    "look",
    "match_heads",
    "merge",
    "open_run",
    "prune",
    "reach",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headscope' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """The package, in which `headscope.analyze` is the function whatever was imported before.

    The import system makes each submodule an attribute of its package: the module `analyze` would
    hide the function of that name.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
