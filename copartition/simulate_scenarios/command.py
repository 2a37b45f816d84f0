"""Define the command `copartition simulate`, which runs scenarios, compares records, and replays logs.

Modules that only a run needs are imported inside the functions, so that `--help` stays fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from copartition.kit.words import visible
from copartition.shell.client_options import client_options
from copartition.shell.commands import COULD_NOT, Output, command, complain, track, write
from copartition.shell.options import (
    group_option,
    grow_option,
    html_option,
    one_argument,
    output_options,
    pace_options,
    schema_option,
    seed_option,
)
from partitioning.errors import ScenarioError
from partitioning.kit.limits import MAX_FILE_BYTES, MAX_GROUP_MEMBERS, MAX_RUNS

if TYPE_CHECKING:
    from pathlib import Path

    from copartition.deploys.answer import Stops
    from copartition.deploys.pace import Pace
    from copartition.kit.evidence import Missing
    from copartition.simulation import Runs, SimulationResult
    from copartition.simulation.inputs.scenario import CapturedScenario

_RECORD = ".ndjson"
"""The suffix of a record's file name, by which a record is distinguished from a scenario and a capture."""
_SHOWN = 100
"""The most characters of a differing line that are shown."""


class ScenarioInputs(NamedTuple):
    """Holds the options about scenarios that `simulate` and `size` have in common.

    Attributes:
        assignors: the strategies to run each scenario with; if empty, each scenario runs with its own
            strategy.
        pace: settings of every scenario, and how fast a deploy of a captured group goes.
        seed: the seed of every scenario; None if each scenario has its own seed.
        deploys: the deploys, crashes and the like of a captured group, in the words of `parse_happening`;
            empty if the user gives none, as for scenario files.
        group: the group to read from a capture that has several.
        config: librdkafka's settings of a cluster, for live:GROUP.
    """

    assignors: tuple[str, ...]
    pace: Pace
    seed: int | None
    deploys: tuple[str, ...]
    group: str | None
    config: dict[str, str]

    def read(self, plans: Sequence[str]) -> list[CapturedScenario]:
        """Return the scenarios of files and names, or of groups, each with its assumptions.

        Files are captured groups if there is a --deploy or the like, or if all files are records.

        Args:
            plans: paths, names of ready scenarios, or sources of groups.

        Raises:
            ScenarioError: a scenario cannot be read, or is impossible.
            SourceError: a group cannot be read.
        """
        bases = self._from_groups(plans) if self.are_captures(plans) else self._from_files(plans)
        if self.seed is None:
            return bases
        return [base._replace(scenario=replace(base.scenario, seed=self.seed)) for base in bases]

    def are_captures(self, plans: Sequence[str]) -> bool:
        """Return whether the files are captured groups: there is a --deploy, or all files are records."""
        return bool(self.deploys) or all(plan.lower().endswith(_RECORD) for plan in plans)

    def _from_files(self, plans: Sequence[str]) -> list[CapturedScenario]:
        """Return the scenarios of files and names, each with every assignor that was asked for.

        Scenarios with the same name are named after their files, so that a report can distinguish them.
        """
        from copartition.deploys.pace import Pace, full_names  # noqa: PLC0415 - only here
        from copartition.simulation.inputs.scenario import CapturedScenario, Scenario  # noqa: PLC0415 - only here

        if self.pace != Pace(changes=self.pace.changes):
            raise click.UsageError(
                "--down, --ready and --every are of a --deploy; a scenario file says its own"
            )
        changes = full_names(self.pace.changes)
        bases = [Scenario.from_file(_find(plan), changes) for plan in plans]
        if len({base.name for base in bases}) < len(bases):
            # Two scenarios with one name would be one column in a report.
            bases = [replace(base, name=plan) for base, plan in zip(bases, plans, strict=True)]
        named = [(base, name) for base in bases for name in self.assignors or (base.assignor,)]
        return [CapturedScenario(replace(base, assignor=name)) for base, name in named]

    def _from_groups(self, plans: Sequence[str]) -> list[CapturedScenario]:
        """Return the scenarios of captured groups and records, with every deploy and every assignor."""
        from copartition.deploys import scenario  # noqa: PLC0415 - as above
        from copartition.groups import read_source  # noqa: PLC0415 - only groups need it
        from copartition.simulate_scenarios.learned import learn_costs  # noqa: PLC0415 - only records need it

        captured: list[CapturedScenario] = []
        assignors = self.assignors or (None,)
        for plan in plans:
            if plan.lower().endswith(_RECORD):
                pace, learned = learn_costs(plan, self.pace)
                captured += [
                    found._replace(assumed=(*learned, *found.assumed))
                    for found in scenario.scenarios_of_record(plan, self.deploys, assignors, pace)
                ]
            else:
                state = read_source(plan, self.config, group=self.group).state
                happenings = [scenario.parse_happening(state, deploy) for deploy in self.deploys]
                captured += [
                    scenario.with_waiting(
                        scenario.scenario_of(state, happening, self.pace, assignor=assignor), state
                    )
                    for happening in happenings
                    for assignor in assignors
                ]
        return captured


def _build_inputs(
    *,
    deploys: tuple[str, ...],
    joins: tuple[int, ...],
    leaves: tuple[str, ...],
    crashes: tuple[str, ...],
    grow: dict[str, int],
    **others: Any,
) -> ScenarioInputs:
    """Return the `ScenarioInputs` of the options; deploys and the like become words for `parse_happening`."""
    happenings = (
        *deploys,
        *(f"add {members}" for members in joins),
        *(f"leave {member}" for member in leaves),
        *(f"crash {member}" for member in crashes),
        *(f"grow {topic}={partitions}" for topic, partitions in grow.items()),
    )
    return ScenarioInputs(deploys=happenings, **others)


scenario_options = one_argument(
    "inputs",
    _build_inputs,
    click.option(
        "--assignor",
        "assignors",
        multiple=True,
        help="Run the scenarios with this assignor instead of their own; repeatable, to compare assignors.",
    ),
    pace_options,
    seed_option("Run the scenarios with this seed instead of their own."),
    click.option(
        "--deploy",
        "deploys",
        multiple=True,
        type=click.Choice(["rolling", "surge"]),
        help="FILE is a group, as assignment-diff takes it: replace its members one after the other. This "
        "and the next four options are repeatable; each makes a run of its own.",
    ),
    click.option(
        "--add-members",
        "joins",
        multiple=True,
        type=click.IntRange(1, MAX_GROUP_MEMBERS),
        metavar="N",
        help="FILE is a group: N members join.",
    ),
    click.option(
        "--remove-member", "leaves", multiple=True, metavar="ID", help="FILE is a group: this member leaves."
    ),
    click.option(
        "--crash-member", "crashes", multiple=True, metavar="ID", help="FILE is a group: this member crashes."
    ),
    grow_option("FILE is a group: a topic grows to N partitions."),
    group_option,
    client_options("The cluster of live:GROUP."),
    parameters=(
        *("assignors", "pace", "seed", "deploys", "joins", "leaves", "crashes", "grow", "group", "config"),
    ),
)


@command(
    "copartition simulate --list",
    "copartition simulate deploy-surge deploy-static-ids",
    "copartition simulate deploy.yaml --assignor range --assignor cooperative-sticky",
    "copartition simulate billing.txt --deploy rolling --html page.html",
)
@click.argument("plans", nargs=-1, metavar="[FILE|NAME]...")
@scenario_options
@output_options("text", "json", "ndjson")
@click.option(
    "--runs",
    type=click.IntRange(2, MAX_RUNS),
    metavar="N",
    help="Run each scenario with N seeds, and show medians and 95th percentiles. The page of --html shows "
    "the first run.",
)
@html_option
@click.option(
    "--replay",
    type=click.File("rb"),
    metavar="LOG",
    help="Run the scenarios of a log (written with -o ndjson) again, and compare with the log.",
)
@click.option(
    "--list", "listing", is_flag=True, help="List the scenarios that the package brings, ready to run."
)
@schema_option(
    "copartition.simulation.inputs.file",
    "scenario_schema",
    "--scenario-schema",
    "Print the JSON Schema of scenario files.",
)
def simulate(
    plans: tuple[str, ...],
    *,
    inputs: ScenarioInputs,
    output: Output,
    runs: int | None,
    html: str | None,
    replay: BinaryIO | None,
    listing: bool,
) -> int:
    """Run scenarios: rebalances, pauses by phase and cause, moves, lag.

    FILE is a scenario in YAML, TOML or JSON, NAME a ready scenario, see --list. The results of several
    scenarios stand side by side. -o ndjson prints a log of every event. With --deploy, --add-members and the
    like, FILE is a captured group. Without them a record of watch, FILE.ndjson, is compared with the model,
    event by event.

    Exit code: 0 the scenarios ran; of a captured group, no partition stops; a record or a log agrees with the
    model. 1 partitions of a captured group stop, or a record or a log differs. 2 the command could not run,
    or it is unknown what stops.
    """
    if sum((bool(plans), replay is not None, listing)) != 1:
        raise click.UsageError("name files or ready scenarios, or give one of --list and --replay")
    if replay is not None:
        return _compare_log(replay)
    if not inputs.deploys and any(plan.lower().endswith(_RECORD) for plan in plans):
        if len(plans) > 1 or len(inputs.assignors) > 1 or output.form == "ndjson" or html is not None:
            raise click.UsageError(
                "a record is compared with one model: no other file or assignor, no -o ndjson, no --html"
            )
        from copartition.simulate_scenarios.replay import SEEDS, replay_record  # noqa: PLC0415 - only a record needs it

        # Seeds are consecutive, so that --seed repeats the same runs.
        first = inputs.seed or 0
        seeds = range(first, first + (runs or SEEDS))
        comparison = replay_record(plans[0], "".join(inputs.assignors) or None, inputs.pace.changes, seeds)
        from copartition.watch.report import print_replay, replay_json  # noqa: PLC0415 - as above

        output.show(partial(print_replay, comparison), json=partial(replay_json, comparison))
        return not comparison.agrees
    if listing:
        from copartition.kit.json import dump  # noqa: PLC0415 - only a listing needs these
        from copartition.simulate_scenarios.report_text import print_ready  # noqa: PLC0415
        from copartition.simulation import Scenario  # noqa: PLC0415
        from copartition.simulation.inputs.file import ready_scenarios  # noqa: PLC0415

        rows = [
            {"name": name, "summary": ready.summary, **Scenario.from_file(ready.path).purpose}
            for name, ready in ready_scenarios().items()
        ]
        output.show(partial(print_ready, rows), json=partial(dump, rows))
        return 0
    captured = inputs.read(plans)
    # Several scenarios of one group share assumptions; each sentence is printed once.
    for text in dict.fromkeys(text for _, assumed in captured for text in assumed):
        complain(f"assumed: {text}")
    return _report(captured, runs, output, html, answers=inputs.are_captures(plans))


def _find(plan: str) -> Path:
    """Return the file of a scenario that the user names by its path, or by the name of a ready scenario.

    Raises:
        ScenarioError: there is neither; the message names ready scenarios with similar names.
    """
    # These modules are imported here, because help and completion do not need them.
    from pathlib import Path  # noqa: PLC0415

    from copartition.simulation.inputs.file import ready_scenarios  # noqa: PLC0415
    from partitioning.kit.near import near  # noqa: PLC0415

    path, ready = Path(plan), ready_scenarios()
    # A name with a suffix or a folder is meant as a file. If it is missing, the error is about the file.
    if path.is_file() or path.suffix or len(path.parts) > 1:
        return path
    if plan not in ready:
        raise ScenarioError(f"no file and no ready scenario {plan!r}; {near(plan, ready)}")
    return ready[plan].path


def _report(
    captured: Sequence[CapturedScenario],
    runs: int | None,
    output: Output,
    html: str | None,
    *,
    answers: bool,
) -> int:
    """Run all scenarios, write the report, and return the exit code.

    The report is written after the last run, so that an error leaves no half of a report. The exit code is 1
    if something of a captured group stops, and 2 if that is unknown, or if the user interrupted the runs.

    Args:
        captured: the scenarios, in the order in which they are shown.
        runs: the number of seeds of each; None for one run.
        output: format and file.
        html: the path of a page; None for no page.
        answers: True for captured groups; then the report begins with how long partitions are not read.
    """
    from copartition.deploys.answer import exit_code_of  # noqa: PLC0415 - only here
    from copartition.deploys.stops import stops_of  # noqa: PLC0415 - only here
    from copartition.simulate_scenarios.report import runs_json, simulation_json  # noqa: PLC0415 - only here
    from copartition.simulate_scenarios.report_text import print_runs, print_simulation  # noqa: PLC0415
    from copartition.simulation import simulate as run  # noqa: PLC0415

    if html is not None:
        from copartition.simulate_scenarios.page import simulation_html  # noqa: PLC0415 - needs the extra "report"
    if runs is not None and output.form == "ndjson":
        raise click.UsageError("-o ndjson is the log of one seed; leave --runs out")
    # With several assignors, `captured` has each scenario more than once, so a scenario's name alone is not
    # unique.
    several, interrupted = len({scenario.assignor for scenario, _ in captured}) > 1, False
    plans: list[Runs] = []
    stops: list[Stops | Missing] = []
    results: list[SimulationResult] = []
    for base in captured:
        name = base.scenario.name + (f" with {base.scenario.assignor}" if several else "")
        if runs is None:
            # Show a progress bar even for a single run, because a run of a large group takes many seconds.
            results += track(
                map(run, [base.scenario]), f"{base.scenario.name} with {base.scenario.assignor}", 1
            )
            stops += [stops_of(base, name)] if answers else []
        else:
            plan, result, stopped = _run_seeds(base, name, runs, answers=answers)
            plans.append(plan)
            results.append(result)
            stops += [stopped] if stopped is not None else []
            # Fewer runs mean that the user pressed Ctrl-C. What has been run is still reported.
            if interrupted := len(plan.summaries) < runs:
                break
    if html is not None:
        write(simulation_html(results, stops), html)
    if output.form == "ndjson":
        from copartition.simulation.outcome.log import log_lines  # noqa: PLC0415

        write("".join(line for result in results for line in log_lines(result)))
    elif plans:
        output.show(partial(print_runs, plans, stops=stops), json=partial(runs_json, plans, stops))
    else:
        output.show(
            partial(print_simulation, results, stops=stops), json=partial(simulation_json, results, stops)
        )
    return COULD_NOT if interrupted else exit_code_of(stops)


def _run_seeds(
    base: CapturedScenario, name: str, runs: int, *, answers: bool
) -> tuple[Runs, SimulationResult, Stops | None]:
    """Run a scenario with several seeds.

    A bar on the terminal shows the progress. After Ctrl-C the remaining runs are left out, and a message says
    so. Only the first run is kept whole; of the others only the figures are kept.

    Args:
        base: the scenario with its assumptions.
        name: its name in the report.
        runs: number of seeds.
        answers: whether the scenario is of a captured group; then `Stops` are computed, too.

    Returns:
        The figures of every run, the first run, and the `Stops`, which are None if `answers` is False.
    """
    from copartition.deploys.stops import measure, run_phases, sum_up_stops  # noqa: PLC0415 - only this command
    from copartition.simulation import Runs, simulate_seeds  # noqa: PLC0415 - as above

    scenario = base.scenario
    if answers:
        # A captured group does not show at which moment of a heartbeat interval its deploy begins, so the
        # runs begin at moments spread over an interval.
        results = run_phases(scenario, runs)
    else:
        results = simulate_seeds(scenario, range(scenario.seed, scenario.seed + runs))
    tracked = track(results, what := f"{scenario.name} with {scenario.assignor}", runs)
    # Ctrl-C during the first run ends the command, because there is nothing to report yet.
    first = next(tracked)
    summaries, figures = [first.summary], [measure(first)] if answers else []
    try:
        for result in tracked:
            figures += [measure(result)] if answers else []
            summaries.append(result.summary)
    except KeyboardInterrupt:
        complain(f"interrupted: {what} has {len(summaries):,} of {runs:,} runs")
        # The last run may have been interrupted after `figures` was extended and before `summaries` was.
        figures = figures[: len(summaries)]
    return Runs(scenario, summaries), first, sum_up_stops(base, name, figures) if answers else None


def _compare_log(log: BinaryIO) -> int:
    """Run the scenarios of a log again, and return the exit code: 0 if the log is the same, 1 if it differs.

    The first difference is printed.
    """
    from copartition.simulation.outcome.log import replay  # noqa: PLC0415 - only this command needs it

    # Each read has a bound, because a file without line breaks would be read into memory as a whole.
    difference = replay(iter(partial(log.readline, MAX_FILE_BYTES), b""))
    if difference is None:
        write("the same\n")
        return 0
    write(f"line {difference.line} differs from character {difference.column} on\n")
    for which, line in (("logged", difference.logged), ("now", difference.now)):
        # Lines of a log may be very long, so only the part around the difference is shown.
        start = max(0, difference.column - _SHOWN // 2)
        shown = "(no such line)" if line is None else visible(line.rstrip("\n")[start : start + _SHOWN])
        write(f"{which:>6}: {'... ' if start else ''}{shown}\n")
    return 1
