"""Prints how often claims are decided at their bar, found when planted, and covered by intervals.

python -m tools.calibrate_claims --simulations 1000 > table.md
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product

from tests.findings.claims.cases import CASES, Case
from tests.findings.claims.simulated import Study, simulate

SEED_SPREADS = {"none": 0.0, "equal": 1.0, "dominant": 5.0}
"""Spread of the seeds of an untrained model, in standard errors of one seed over its documents."""

Condition = tuple[int, str]
"""Number of documents, and how much seeds vary."""


@dataclass(frozen=True)
class Calibration:
    """Shares of simulated studies."""

    decided: float
    """At the bar: the claim holds or fails."""
    covered: float
    """At the bar: the true effect lies in the interval."""
    found: float
    """With a planted effect: the claim holds."""

    def __str__(self) -> str:
        shares = (self.decided, self.covered, self.found)
        return " / ".join(f"{100 * share:.1f}" for share in shares)


def mean(found: Sequence[Calibration]) -> Calibration:
    """The shares over several cells of as many simulations each."""
    shares = (
        sum(getattr(one, field.name) for one in found) / len(found) for field in fields(Calibration)
    )
    return Calibration(*shares)


def calibrate(case: Case, study: Study, simulations: int, planted: int) -> Calibration:
    """How a claim does over many simulated studies.

    Args:
        case: One question of a claim.
        study: The size of each study.
        simulations: Number of studies at the bar.
        planted: Number of studies with a planted effect.
    """
    decided = covered = 0
    for number in range(simulations):
        finding = case.find(simulate(number, case.at_bar, study))
        interval = case.interval(finding)
        decided += finding.status != "undecided"
        covered += interval is not None and interval.low <= case.effect <= interval.high
    found = sum(
        case.find(simulate(number, case.planted, study)).status == "holds"
        for number in range(planted)
    )
    return Calibration(decided / simulations, covered / simulations, found / max(planted, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=1000, help="studies at the bar, a cell")
    parser.add_argument("--planted", type=int, default=50, help="studies with an effect, a cell")
    parser.add_argument("--documents", type=int, nargs="+", default=[20, 40, 200])
    parser.add_argument("--seeds", nargs="+", choices=SEED_SPREADS, default=list(SEED_SPREADS))
    parser.add_argument("--claims", nargs="+", help="only these (default: all)")
    asked = parser.parse_args()
    cases = [case for case in CASES if not asked.claims or case.claim in asked.claims]
    conditions = list(product(asked.documents, asked.seeds))
    rows: dict[str, dict[Condition, Calibration]] = {case.name: {} for case in cases}
    for documents, seeds in conditions:
        study = Study(documents=documents, seed_spread=SEED_SPREADS[seeds])
        for case in cases:
            if not case.untrained and seeds != asked.seeds[0]:
                continue
            found = calibrate(case, study, asked.simulations, asked.planted)
            rows[case.name][documents, seeds] = found
            print(f"{documents} documents, seeds {seeds}, {case.name}: {found}", file=sys.stderr)
    print_table(rows, conditions)


def print_table(
    rows: Mapping[str, Mapping[Condition, Calibration]], conditions: Sequence[Condition]
) -> None:
    """Print the cells, and the means over rows and columns.

    Args:
        rows: By question. One in which untrained models play no part has a cell for each number of
            documents alone.
        conditions: The columns.
    """
    titles = [f"{documents} documents, {seeds}" for documents, seeds in conditions]
    print("| question | " + " | ".join([*titles, "all"]) + " |")
    print("| --- " * (len(titles) + 2) + "|")
    for name, cells in rows.items():
        shown = [str(cells.get(condition, "")) for condition in conditions]
        print(f"| {name} | " + " | ".join([*shown, str(mean(list(cells.values())))]) + " |")
    columns = [[cells[at] for cells in rows.values() if at in cells] for at in conditions]
    every = [cell for column in columns for cell in column]
    print("| all | " + " | ".join(str(mean(cells)) for cells in [*columns, every]) + " |")


if __name__ == "__main__":
    main()
