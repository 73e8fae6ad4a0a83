"""Prints the verdict on each claim for several runs, as the table of docs/claims.md.

python -m tools.verdict_table RUN RUN ...
"""

import sys
from pathlib import Path

import headscope as hs
from headscope.findings.claims import Verdict

WORDS = {
    "holds": "**holds**",
    "fails": "fails",
    "undecided": "undecided",
    "depends": "*depends*",
    "cannot answer": "-",
}


def cell(verdict: Verdict) -> str:
    """`**holds** 5.46 [4.85, 6.15] (24/30)`: verdict, effect, and the choices that agree.

    Where it depends, the choices under which it holds and fails are both counted.
    """
    words, effect = WORDS[verdict.status], verdict.effect
    if effect is None:
        return words
    interval = f"{effect.value:.3g} [{effect.low:.3g}, {effect.high:.3g}]"
    return f"{words} {interval}{_agreeing(verdict)}"


def _agreeing(verdict: Verdict) -> str:
    robustness = verdict.robustness
    if robustness is None:
        return ""
    total = len(robustness.choices)
    if verdict.status == "depends":
        holds, fails = robustness.count("holds"), robustness.count("fails")
        return f" ({holds} hold, {fails} fail of {total})"
    return f" ({robustness.count(verdict.status)}/{total})"


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
