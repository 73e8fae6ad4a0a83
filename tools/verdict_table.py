"""Prints the verdict on each claim for several runs, as the table of docs/claims.md.

python -m tools.verdict_table RUN RUN ...
"""

import sys
from pathlib import Path

import headscope as hs
from headscope.findings.claims import Verdict

SIGNS = {"holds": "**holds**", "fails": "fails", "undecided": "undecided", "cannot answer": "-"}


def cell(verdict: Verdict) -> str:
    effect = verdict.finding.effect
    if effect is None:
        return SIGNS[verdict.status]
    interval = f"{effect.value:.3g} [{effect.low:.3g}, {effect.high:.3g}]"
    return f"{SIGNS[verdict.status]} {interval}"


def main(folders: list[str]) -> None:
    rows: dict[str, dict[str, str]] = {}
    for folder in folders:
        run = hs.open_run(folder)
        for verdict in run.claims():
            name = Path(folder).name
            if len(run.manifest.stacks) > 1:
                name += f", {verdict.stack}"
            rows.setdefault(name, {})[verdict.name] = cell(verdict)
    claims = list(next(iter(rows.values())))
    print("| run | " + " | ".join(claims) + " |")
    print("| --- " * (len(claims) + 1) + "|")
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(cells[claim] for claim in claims) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
