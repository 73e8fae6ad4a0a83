"""A small real run, and what its figures are drawn from."""

import pytest

import headscope
from headscope.pages.figures import FIGURES, StackFindings, draw_figure
from headscope.pages.figures.source import Source


@pytest.fixture(scope="session")
def small_run(demo_model, tmp_path_factory):
    """24 texts of the demo corpus. Only to be read."""
    return headscope.analyze(
        demo_model,
        "demo",
        texts=24,
        window=64,
        out=tmp_path_factory.mktemp("figures") / "run",
        nulls=0,
        report=False,
        progress=False,
    )


@pytest.fixture(scope="session")
def results(small_run):
    return small_run.stacks["encoder"]


@pytest.fixture(scope="session")
def source(small_run):
    return Source.of(small_run.manifest, "encoder")


@pytest.fixture(scope="session")
def findings(small_run, results, source):
    return StackFindings(results, source, small_run.roles)


@pytest.fixture(scope="session")
def drawn(findings):
    """Every figure, drawn once. Only to be looked at."""
    return {name: draw_figure(name, findings) for name in FIGURES.names}
