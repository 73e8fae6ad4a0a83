"""A small real run, and what its figures are drawn from."""

from dataclasses import replace

import pytest

from headscope.pages.figures import FIGURES, StackFindings, draw_figure
from headscope.pages.figures.source import Source


@pytest.fixture(scope="session")
def small_run(kept_run):
    """24 windows of the demo corpus. Only to be read."""
    return kept_run("figures", texts=24, window=64, nulls=0, report=False)


@pytest.fixture(scope="session")
def results(small_run):
    return small_run.stacks["encoder"]


@pytest.fixture(scope="session")
def source(small_run):
    return Source.of(small_run.manifest, "encoder")


@pytest.fixture(scope="session")
def findings(small_run, results, source):
    heads, cka = small_run.signal, small_run.redundancy["encoder"]
    return StackFindings(results, source, small_run.roles, signal=heads, redundancy=cka)


@pytest.fixture(scope="session")
def few(findings):
    """Three layers of four heads: quick to draw."""
    results = findings.results.isel(layer=range(3), head=range(4))
    kept = "layer <= 3 & head <= 4"
    heads = (slice(1, 3), slice(1, 4))
    cka = findings.redundancy.loc[heads, heads]
    return replace(
        findings,
        results=results,
        roles=findings.roles.query(kept),
        signal=findings.signal.query(kept),
        redundancy=cka,
    )


@pytest.fixture(scope="session")
def drawn(findings):
    """Every figure, drawn once. Only to be looked at."""
    return {name: draw_figure(name, findings) for name in FIGURES.names}
