"""Name the commands of `copartition`, under the headings of --help.

The list is text, so that --help and completion import no command.
"""

from importlib import import_module

import click

from copartition.shell.commands import HELP, QuietGroup, command, examples_help, write

SECTIONS = {
    "Keys and topics": {
        "partition": "Where every client puts a key.",
        "check": "Can these topics be joined partition by partition?",
        "audit": "Who wrote a topic: whose rule, over how many partitions.",
        "reshape": "Give a topic in use another count or rule, with each key in order.",
        "profiles": "Every client's rule for keys, plug-ins included.",
    },
    "Groups": {
        "diff": "What a change moves and stops; the same as assignment-diff.",
        "simulate": "Run scenarios: rebalances, pauses, moves, lag.",
        "size": "The fewest consumers that keep lag within a bound, through deploys.",
        "migrate": "Safe rolling bounces from one strategy to another.",
        "doctor": "What is wrong with a group, and what to do.",
        "why": "Why a group rebalanced, from logs of brokers and clients.",
        "watch": "What changes in a group while you look, a line for each change.",
        "snapshot": "Save a group as a file that assignment-diff can read.",
        "assign": "What an assignor gives to members; --list names the assignors.",
        "coordinator": "Which broker is the coordinator of a group.",
        "model share": "How long a lock and how many members a share group needs.",
    },
    "Producers": {
        "model batching": "The linger.ms and batch.size that keep latency under a limit.",
        "model delivery": "How often faults lose, duplicate or reorder records.",
    },
    "Cluster": {
        "transactions": "Open transactions, what they hold back from readers, and how to end them.",
        "ledger": "The ledgers of exactly-once writes from Spark on a cluster.",
    },
    "Others": {
        "vectors": "Exact answers with which to test a broker or a client.",
        "examples": "Write the files that the examples of --help read.",
        "completion": "A script that lets a shell complete commands and options.",
        "help": "How a command is used; the same as its --help.",
    },
}
"""Heading -> command -> its line in --help, in order; "model share" is a command within a group."""

COMMANDS = tuple(dict.fromkeys(name.split()[0] for section in SECTIONS.values() for name in section))
"""The names of all commands, in the order of --help."""

_MODULES = {
    "partition": "shell.verbs.partition",
    "profiles": "shell.verbs.partition",
    "assign": "shell.verbs.assign",
    "coordinator": "shell.verbs.coordinator",
    "ledger": "shell.verbs.ledger",
    "snapshot": "shell.verbs.snapshot",
    "completion": "shell.main",
    "help": "shell.main",
    "examples": "shell.verbs.examples",
    "diff": "assignment_diff.command",
    "model": "models.command",
    "simulate": "simulate_scenarios.command",
    "size": "simulate_scenarios.size_command",
}
"""Command -> its module below `copartition`, for each command that is not in the package with its name."""


class _Verbs(QuietGroup):
    """The commands under headings; a listing of them imports no command."""

    def list_commands(self, ctx: click.Context | None) -> list[str]:  # noqa: ARG002 - click's interface
        """Return the names of the commands, in the order of --help."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of this name, and import its module; None if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        # Only the module of this command is imported, because all modules together take longer than most
        # commands.
        module = import_module(f"copartition.{_MODULES.get(cmd_name, f'{cmd_name}.command')}")
        imported: click.Command = getattr(module, cmd_name)
        return imported

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands under their headings, all in columns of one width."""
        # click would align each section by itself; all names are padded to one width, so the texts line up.
        longest = max(len(name) for commands in SECTIONS.values() for name in commands)
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(longest), text) for name, text in commands.items()])


@click.group(
    cls=_Verbs,
    context_settings=HELP,
    epilog=examples_help(
        "copartition partition order-42 -n 12",
        "copartition check orders payments -b localhost:9092",
        "assignment-diff live:billing plan:current --deploy rolling -b localhost:9092",
    ),
)
@click.version_option(package_name="copartition")
def copartition() -> None:
    """Tell where Kafka puts a record and who consumes it, before you run it.

    KAFKA_BOOTSTRAP_SERVERS names the cluster if -b does not. Exit code: 0 nothing is wrong; 1 something was
    found; 2 the answer is unknown, or the command could not run.
    """


WHERE_SCRIPTS_GO = """\b
Where it goes:
  bash: copartition completion bash >> ~/.bashrc
  zsh:  copartition completion zsh >> ~/.zshrc
  fish: copartition completion fish > ~/.config/fish/completions/copartition.fish
"""
"""The end of the help of `completion`: one command line for each shell."""


@command("copartition help", "copartition help model share")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help(ctx: click.Context, words: tuple[str, ...]) -> None:  # noqa: A001 - the name of the command
    """Show how COMMAND is used, the same as its --help; without COMMAND, list all commands.

    Exit code: 0 the help is shown; 2 there is no such command.
    """
    # The group prints the help, as it does for --help, so both have the same text and the same errors.
    assert ctx.parent is not None
    ctx.parent.command.main([*words, "--help"], prog_name=ctx.parent.info_name)


@command(epilog=WHERE_SCRIPTS_GO)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that lets a shell complete commands and options of copartition and assignment-diff.

    Exit code: 0 the script is printed; 2 there is no script for this shell.
    """
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - few ask for it

    # click makes the script. The script sets the variable that click looks for when a command of this
    # `prog_name` starts.
    script = get_completion_class(shell)
    assert script is not None
    for name in ("copartition", "assignment-diff"):
        variable = f"_{name}_COMPLETE".replace("-", "_").upper()
        write(script(copartition, {}, name, variable).source() + "\n")
