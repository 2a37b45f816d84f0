"""`copartition vectors`: exact answers for authors of brokers and clients, and what differs from them."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from copartition.cli.options import output_options
from copartition.cli.shell import HELP, QuietCommand
from copartition.cli.verbs import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.cli.shell import Output
    from copartition.vectors import Difference

MOST = 100_000


def _print_schema(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from copartition.reports.vectors import SCHEMA  # noqa: PLC0415 - only here

        click.echo(json.dumps(SCHEMA, indent=2))
        ctx.exit()


@click.command(
    cls=QuietCommand,
    context_settings=HELP,
    epilog=examples(
        "copartition vectors uniform --count 2000 > uniform.json",
        "copartition vectors cooperative-sticky --check ./mine",
    ),
)
@click.argument("strategy")
@click.option("--count", type=click.IntRange(1, MOST), default=200, show_default=True, help="How many cases.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Decides the cases.")
@click.option(
    "--check",
    "command",
    metavar="COMMAND",
    help="A program that reads a case a line and writes an answer a line: report where it differs.",
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of the cases.",
)
@output_options("text", "json")
@click.pass_context
def vectors(
    ctx: click.Context, strategy: str, *, count: int, seed: int, command: str | None, output: Output
) -> None:
    """Groups or keys with the exact answers of STRATEGY, an assignor or a client's profile, as JSON.

    With --check the exit code is 1 where a member gets other partitions, or a key another partition.
    """
    from copartition.vectors import FORMAT_VERSION, check_vectors, make_vectors  # noqa: PLC0415 - not for help

    cases = make_vectors(strategy, count, seed)
    if command is None:
        head = {"format_version": FORMAT_VERSION, "strategy": strategy, "seed": seed}
        lines = ",\n".join(json.dumps(case) for case in cases)
        output.write(f'{json.dumps(head)[:-1]}, "cases": [\n{lines}\n]}}\n')
        return
    differences = check_vectors(strategy, cases, shlex.split(command))
    output.write(_report(strategy, cases, differences, output.form))
    if any(each.verdict == "different" for each in differences):
        ctx.exit(1)


def _report(strategy: str, cases: Sequence[Any], differences: Sequence[Difference], form: str) -> str:
    from copartition.vectors import MOST_SHOWN  # noqa: PLC0415

    counts = Counter(each.verdict for each in differences)
    numbers = {
        "cases": len(cases),
        "equal": len(cases) - len(differences),
        "other_order": counts["other order"],
        "different": counts["different"],
    }
    shown = sorted(differences, key=lambda each: each.verdict)[:MOST_SHOWN]
    if form == "json":
        rows = [{"verdict": each.verdict, "case": each.case, "found": each.answer} for each in shown]
        return json.dumps({"strategy": strategy, **numbers, "differences": rows}, indent=2) + "\n"
    equal, order, different = (f"{numbers[name]:,}" for name in ("equal", "other_order", "different"))
    head = (
        f"{strategy}: {equal} of {len(cases):,} cases equal, {order} in another order, {different} different"
    )
    lines = [head]
    for each in shown[:5]:
        lines += [
            f"case {each.case['case']}, {each.verdict}: {_question(each.case)}",
            f"  exact  {json.dumps(each.case['answer'])}",
            f"  found  {json.dumps(each.answer)}",
        ]
    return "\n".join(lines) + "\n"


def _question(case: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in case.items() if key not in {"case", "answer"}})
