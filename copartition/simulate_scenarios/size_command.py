"""Define the command `copartition size`, which finds the fewest consumers that keep up."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from copartition.shell.commands import COULD_NOT, Output, command, track
from copartition.shell.options import count_option, output_options, read_time
from copartition.simulate_scenarios.command import ScenarioInputs, scenario_options

if TYPE_CHECKING:
    from copartition.simulate_scenarios.size_search import Size
    from copartition.simulation.inputs.scenario import CapturedScenario


@command(
    "copartition size deploy.yaml --max-lag 30s",
    "copartition size deploy.yaml --max-lag 1min --assignor range --assignor cooperative-sticky --runs 3",
    "copartition size billing.txt --deploy rolling --set load.rate=50 --set load.capacity=400 --max-lag 1min",
    "copartition size night.ndjson --set load.rate=50 --set load.capacity=400 --max-lag 1min",
)
@click.argument("plans", nargs=-1, required=True, metavar="FILE|NAME...")
@click.option(
    "--max-lag",
    "max_lag_ms",
    callback=read_time,
    metavar="TIME",
    required=True,
    help="The longest time that any record may wait until it is processed, such as 30s or 2min.",
)
@scenario_options
@count_option("--runs", "The number of seeds with which each number of consumers is simulated.", default=20)
@output_options("text", "json")
def size(
    plans: tuple[str, ...],
    *,
    max_lag_ms: float,
    inputs: ScenarioInputs,
    runs: int,
    output: Output,
) -> int:
    """Find the fewest consumers with which no record waits longer than --max-lag during a scenario.

    FILE and NAME are scenarios as simulate takes them. Their load says how many records arrive and how many a
    consumer can process; their events are what the group has to go through. Numbers of consumers are
    simulated from the fewest that can process the load. The answer also shows settings for an autoscaler,
    under KEDA's names.

    If FILE.ndjson is a record of watch, its last stable group is simulated with the rates that the record
    shows: through a rolling restart and through the crash of a member, or through --deploy and the like.

    Exit code: 0 there is such a number for each scenario; 1 for a scenario there is none; 2 the command could
    not run, or was interrupted, and shows what it tried until then.
    """
    from copartition.simulate_scenarios.size_report import print_sizes, sizes_json  # noqa: PLC0415 - help does without

    sizes: list[Size] = []
    for scenario in inputs.read(plans):
        sizes.append(_size(scenario, max_lag_ms, runs))
        # A user who interrupts the search of one scenario does not want to wait for the others.
        if not sizes[-1].finished:
            break
    output.show(partial(print_sizes, sizes), json=partial(sizes_json, sizes))
    return any(size.fewest is None for size in sizes) if all(size.finished for size in sizes) else COULD_NOT


def _size(captured: CapturedScenario, max_lag_ms: float, runs: int) -> Size:
    """Return the answer for one scenario; a bar on the terminal shows how far it is.

    Ctrl-C ends the search and keeps what was tried: `Size.finished` is False then.
    """
    from copartition.simulate_scenarios.size_search import Size, SizeTrial, numbers_to_try, size_trials  # noqa: PLC0415 - as above

    scenario, assumed = captured
    what, numbers = f"{scenario.name} with {scenario.assignor}", numbers_to_try(scenario)
    trials: list[SizeTrial] = []
    finished = True
    try:
        # The bar expects a trial for about half of the numbers at most, because a trial that does not fit
        # rules out the number before, too.
        for trial in track(size_trials(scenario, max_lag_ms, runs), what, len(numbers) // 2 + 1):
            trials.append(trial)  # noqa: PERF402 - those before Ctrl-C are kept
    except KeyboardInterrupt:
        finished = False
    return Size(scenario, max_lag_ms, runs, tuple(sorted(trials)), assumed, finished)
