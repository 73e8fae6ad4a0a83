"""How long do the verdicts on a finished run take, reading it included?

python benchmarks/claims_seconds.py RUN [--repeats 3]
"""

import argparse
import time

import headscope as hs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    for _ in range(args.repeats):
        start, computed = time.perf_counter(), time.process_time()
        run = hs.open_run(args.run)
        verdicts = run.claims()
        wall, cpu = time.perf_counter() - start, time.process_time() - computed
        heads = sum(site.heads for site in run.manifest.model.sites)
        print(
            f"{run.manifest.corpus.windows} windows x {heads} heads: {len(verdicts)} verdicts in "
            f"{wall:.1f} s ({cpu:.1f} s of CPU)"
        )


if __name__ == "__main__":
    main()
