"""The measurements of a configuration, as lines to read and as rows for README.md."""

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from common.configurations import BARE, WAYS


@dataclass(frozen=True)
class Sizes:
    """What a way reads, as it reports when it is ready."""

    texts: int
    shortest: int
    """Tokens of the shortest window."""
    longest: int
    threads: int


@dataclass
class Measured:
    """The turns of all ways over the same windows."""

    name: str
    repeats: int
    sizes: Sizes
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """By way, one figure a round."""
    once_s: dict[str, list[float]] = field(default_factory=dict)
    """The same for what is done once a run, whatever the number of windows."""
    peak_mb: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    """What happened to the ways that did not finish."""

    def ratios(self, way: str) -> list[float]:
        """To the bare run of the same round."""
        both = zip(self.seconds[way], self.seconds[BARE], strict=True)
        return [mine / bare for mine, bare in both]

    def lines(self) -> Iterator[str]:
        """A header, then a line a way."""
        bare, sizes = self.seconds[BARE], self.sizes
        milliseconds = 1000 * statistics.median(bare) / sizes.texts
        yield (
            f"{self.name}: {sizes.texts} windows of {sizes.shortest} to {sizes.longest} tokens, "
            f"threads: {sizes.threads}, bare {milliseconds:.1f} ms a window, "
            f"{self.peak_mb[BARE]:.0f} MB"
        )
        for way, said in WAYS.items():
            if way in self.problems:
                yield f"    {said.title:24} not measured: {self.problems[way]}"
            elif way in self.seconds and way != BARE:
                above = self.peak_mb[way] - self.peak_mb[BARE]
                least = min(self.seconds[way]) / min(bare)
                once = statistics.median(self.once_s[way])
                yield (
                    f"    {said.title:24} {_spread(self.ratios(way))}, least over least "
                    f"{least:.2f}; {self.peak_mb[way]:.0f} MB, {above:+.0f}"
                    + (f"; {once:.1f} s for the results" if once else "")
                )


def markdown(measured: Iterable[Measured]) -> Iterator[str]:
    """A table of ratios, and one of peak memory in MB, a row a configuration."""
    all_measured = list(measured)
    others = [way for way in WAYS if way != BARE]
    yield from _header(others)
    for one in all_measured:
        cells = [_spread(one.ratios(way)) if way in one.seconds else "" for way in others]
        yield _row(_configuration(one) + _with_problems(one, others, cells))
    yield ""
    yield from _header(list(WAYS))
    for one in all_measured:
        cells = [f"{one.peak_mb[way]:,.0f}" if way in one.seconds else "" for way in WAYS]
        yield _row(_configuration(one) + _with_problems(one, list(WAYS), cells))


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _configuration(one: Measured) -> list[str]:
    return [one.name, f"{one.sizes.texts}, {one.sizes.longest:,}, {one.repeats}"]


def _with_problems(one: Measured, ways: list[str], cells: list[str]) -> list[str]:
    return [
        "failed" if way in one.problems else cell for way, cell in zip(ways, cells, strict=True)
    ]


def _header(ways: list[str]) -> Iterator[str]:
    titles = ["model", "windows, tokens, repeats", *(WAYS[way].title for way in ways)]
    yield _row(titles)
    yield _row(["---"] * len(titles))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
