"""Hostile input, generated: `python -m tools.fuzz --cases 100000 --seed 1`.

Every case is made from the seed, its target's name and its number alone. What comes out must be an answer or
an error of the packages' tree, within two seconds of processor time and the memory of `--memory`. A finding
is printed with what makes it again; mend it and add it to the table in `tools/fuzz/test_findings.py`.
"""
# ruff: noqa: T201 - its output is what it is for

import argparse
import resource
import sys
import time

from tools.fuzz.runner import run
from tools.fuzz.targets import SHARES, TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="over all targets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", choices=TARGETS, help="only this one, which gets all the cases")
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first case, to make a finding again"
    )
    parser.add_argument("--memory", type=int, default=4096, help="megabytes of address space")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (options.memory * 2**20,) * 2)
    places: set[str] = set()
    total = refused = 0
    for name in [options.target] if options.target else TARGETS:
        cases = (
            options.cases if options.target else max(1, options.cases * SHARES[name] // sum(SHARES.values()))
        )
        start = time.monotonic()
        tally = run({name: TARGETS[name]}, options.seed, cases, first=options.first)
        total += cases
        refused += tally.refused[name]
        new = {finding.place: finding for finding in reversed(tally.findings) if finding.place not in places}
        places |= new.keys()
        print(
            f"{name:14} {cases:8,} cases, {tally.refused[name]:8,} refused, "
            f"{len(tally.findings):4} findings, {time.monotonic() - start:6.1f} s",
            flush=True,
        )
        for place, finding in new.items():
            print(
                f"  {place}: {str(finding.error)[:200]!r}\n    {str(finding.case)[:1000]}\n"
                f"    again: python -m tools.fuzz --seed {options.seed} --target {name} "
                f"--first {finding.number} --cases 1",
                flush=True,
            )
    print(f"seed {options.seed}: {total:,} cases, {refused:,} refused, {len(places)} distinct findings")
    return bool(places)


if __name__ == "__main__":
    sys.exit(main())
