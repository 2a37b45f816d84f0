"""The command `copartition vectors`: print exact answers, or compare a program's answers with them."""

import json
import shlex

import click

from copartition.shell.commands import Output, command, write
from copartition.shell.options import output_options, schema_option, seed_option

MOST = 100_000
"""The most cases of one call."""


@command(
    "copartition vectors uniform --count 2000 > uniform.json",
    "copartition vectors streams-sticky --count 20 --seed 3 > tasks.json",
    "copartition vectors java --count 3",
    "copartition vectors java --against 'python mine.py'",
)
@click.argument("strategy")
@click.option(
    "--count", type=click.IntRange(1, MOST), default=200, show_default=True, help="The number of cases."
)
@seed_option("The seed from which the cases are made.", default=0)
@click.option(
    "--against",
    metavar="COMMAND",
    help="Compare with a program that reads a case from each line and writes an answer in a line.",
)
@schema_option("copartition.vectors.cases", "SCHEMA")
@output_options("text", "json")
def vectors(strategy: str, *, count: int, seed: int, against: str | None, output: Output) -> int:
    """Print cases, which are groups or keys, with the exact answers of STRATEGY, as JSON.

    STRATEGY is an assignor (`copartition assign --list`); a client's profile (`copartition profiles`);
    "simple", the assignor of share groups; or "streams-sticky", "streams-high-availability" or
    "streams-classic-sticky" of Kafka Streams.

    Exit code: 0 the cases are printed, or all answers of the program of --against are right; 1 by the program
    a member gets other partitions, or a key another partition; 2 there is no such strategy, or the program
    could not be run.
    """
    from copartition.vectors.cases import FORMAT_VERSION, make_vectors  # noqa: PLC0415 - unused by --help

    # The cases are made before the program is started, so that a wrong name does not start it.
    cases = make_vectors(strategy, count, seed)
    if against is None:
        head = {"format_version": FORMAT_VERSION, "strategy": strategy, "seed": seed}
        lines = ",\n".join(json.dumps(case) for case in cases)
        write(f'{json.dumps(head)[:-1]}, "cases": [\n{lines}\n]}}\n')
        return 0
    from copartition.vectors.comparison import check_vectors, vectors_report  # noqa: PLC0415 - for --against

    differences = check_vectors(strategy, cases, shlex.split(against))
    write(vectors_report(strategy, cases, differences, output.form))
    return any(difference.verdict == "different" for difference in differences)
