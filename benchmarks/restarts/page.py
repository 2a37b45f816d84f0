"""`benchmarks/restarts.md`: what became of the commands, a row for each cluster, fault and code."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Run = dict[str, Any]

HEAD = """# Commands on a cluster whose brokers restart

Written by `python -m benchmarks.restarts`; `benchmarks/restarts/README.md` says how it is measured. A node
that coordinates the groups is restarted (SIGTERM) or killed (SIGKILL), and started again; or a proxy cuts all
connections and hangs up on new ones for up to 3 s. All the while one `copartition watch` looks at a classic
group and one at a KIP-848 group, each half a second, and `doctor`, `transactions` and `assignment-diff live:`
are asked in turn.

After each strike a new member joins each group: a watch that names it *came back*. *Died*
are watches that ended by themselves, *silent* those that lived and did not name the member within a minute
after it had joined. *Back after* is the time from the cluster's first answer to the watch's first line; it
contains what the machine needed for the brokers, the new member and the commands.

"""
WATCHES = (
    "librdkafka is",
    "cluster, fault",
    "strikes",
    "watches struck",
    "died",
    "silent",
    "came back",
    "said it was away",
    "back after: median",
    "longest",
)
COMMANDS = ("librdkafka is", "cluster, fault", "asked", "answered", "could not tell (2)", "died")
CTRL_C = "\nCtrl-C ended {ended} of {asked} watches with exit code 0, the slowest after {slowest:.1f} s.\n"


def page(runs: Sequence[Run]) -> str:
    """The page for these runs, in the order in which they are kept."""
    watches = [_watches(run["code"], run["cell"], [run]) for run in runs]
    commands = [_commands(run["code"], run["cell"], [run]) for run in runs]
    for code in dict.fromkeys(run["code"] for run in runs):
        same = [run for run in runs if run["code"] == code]
        watches.append(_watches(f"**{code}**", "**all**", same))
        commands.append(_commands(f"**{code}**", "**all**", same))
    parts = [HEAD, _table(WATCHES, watches), "\n## Commands that were asked in the meantime\n\n"]
    parts += [_table(COMMANDS, commands), _how_they_died(runs)]
    ends = [seconds for run in runs if run["code"] == runs[-1]["code"] for seconds in run["interrupted_s"]]
    in_order = [seconds for seconds in ends if seconds is not None]
    if in_order:
        parts.append(CTRL_C.format(ended=len(in_order), asked=len(ends), slowest=max(in_order)))
    loads = sorted(run["load"] for run in runs)
    parts.append(f"\nLoad average of the machine with two cores: {loads[0]} to {loads[-1]}.\n")
    return "".join(parts)


def _watches(code: str, cell: str, runs: Sequence[Run]) -> list[str]:
    back_s = [seconds for run in runs for seconds in run["back_s"]]
    return [
        code,
        cell,
        str(sum(run["strikes"] for run in runs)),
        str(sum(run["watches"] for run in runs)),
        str(sum(len(run["died"]) for run in runs)),
        str(sum(run["silent"] for run in runs)),
        str(len(back_s)),
        str(sum(run["said_away"] for run in runs)),
        f"{median(back_s):.1f} s" if back_s else "",
        f"{max(back_s):.1f} s" if back_s else "",
    ]


def _commands(code: str, cell: str, runs: Sequence[Run]) -> list[str]:
    codes = [(int(name.rpartition(" ")[2]), count) for run in runs for name, count in run["codes"].items()]
    return [
        code,
        cell,
        str(sum(run["asked"] for run in runs)),
        str(sum(count for code, count in codes if code in {0, 1})),
        str(sum(count for code, count in codes if code == 2)),
        str(sum(len(run["bugs"]) for run in runs)),
    ]


def _how_they_died(runs: Sequence[Run]) -> str:
    """The last words of watches and commands that died, each with how often."""
    words: dict[str, int] = {}
    for run in runs:
        for last in [*(f"watch {died}" for died in run["died"]), *run["bugs"]]:
            words[last] = words.get(last, 0) + 1
    lines = "".join(f"- {count} x `{last}`\n" for last, count in sorted(words.items()))
    return (
        f"\nExit codes and last words of those that died (below 0: the signal):\n\n{lines}" if words else ""
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---"] * 2 + ["---:"] * (len(columns) - 2)
    return "".join(f"| {' | '.join(line)} |\n" for line in [columns, rule, *rows])
