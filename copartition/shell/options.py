"""Define each option that several commands share, in one place.

An option is a decorator of a click command. Help and completion build all options, so nothing slow is
imported before an option is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from importlib import import_module
from inspect import signature
from math import isfinite
from re import Pattern
from typing import TYPE_CHECKING, Any

import click

from copartition.shell.commands import Output, write
from partitioning.kit.limits import MAX_GROUP_PARTITIONS, MAX_REPORT_WIDTH, parse_number

if TYPE_CHECKING:
    from copartition.groups.planned_members import Joiner

    Command = Callable[..., int | None]
    Decorator = Callable[[Command], Command]


class FiniteRange(click.FloatRange):
    """A click type for a number within bounds that refuses NaN and infinity, which click lets pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; a number that is out of bounds or not finite is a usage error."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class ClientChoice(click.Choice[str]):
    """A click type for the name of a client; a tool's name stands for its client, as kcat for librdkafka."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the client that a name stands for; raise BadParameter if it stands for none of them."""
        from partitioning.profiles import known_client  # noqa: PLC0415 - help does without

        # An unknown name goes to click as it is, so that the usage error shows what the user wrote.
        known = known_client(value)
        client = None if known is None else known.client
        return super().convert(client or value, param, ctx)


def one_argument(
    name: str, build: Callable[..., Any], *options: Decorator, parameters: Collection[str] = ()
) -> Decorator:
    """Return a decorator that adds several click options, which the command gets as one argument.

    Args:
        name: the argument of the command.
        build: gets the values of the options as keywords, and returns the value of the argument.
        options: decorators of click options, in the order of the help.
        parameters: the names of the options' values, if they are not the parameters of `build`.
    """
    # A class that is built lazily shows only `**fields`, so its caller names the parameters.
    parameters = parameters or signature(build).parameters

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_argument(*args: Any, **values: Any) -> int | None:
            # click passes the values of all options as keywords; those of other options stay as they are.
            own = {parameter: values.pop(parameter) for parameter in parameters if parameter in values}
            return command(*args, **{name: build(**own)}, **values)

        decorated: Command = with_argument
        # Decorators apply from the inside, so the last one applied comes first in the help.
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def build_lazily(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports a class only when it is called, and passes its keywords to the class.

    Args:
        module: module of the class.
        name: name of the class.
    """

    def build(**fields: Any) -> Any:
        return getattr(import_module(module), name)(**fields)

    return build


def _remember_verbose(ctx: click.Context, option: click.Parameter, value: bool) -> None:  # noqa: ARG001
    """Store -v for `QuietCommand`, which prints tracebacks; the commands do not get the option."""
    ctx.meta["verbose"] = value


verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_remember_verbose,
    help="Print the traceback of an error.",
)
group_option = click.option(
    "--group", metavar="NAME", help="The group to read, if a file holds several groups."
)
html_option = click.option(
    "--html", type=click.Path(dir_okay=False), help="Also write a page with pictures to this file."
)
out_option = click.option(
    "--out", type=click.Path(dir_okay=False), help="Write the output to this file instead of printing it."
)


def format_option(*formats: str, text: str = "Format of the output.") -> Decorator:
    """Return the option -o, which a command gets as `form`.

    Args:
        formats: the formats to choose from; the first one is the default.
        text: the option's text in help.
    """
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        help=text,
        show_default=True,
    )


def output_options(*formats: str, file: bool = False) -> Decorator:
    """Return the options -o, --color, --width and -v as one argument `output`, an `Output`.

    Args:
        formats: the formats of -o; the first one is the default.
        file: whether the option --out is added.
    """
    return one_argument(
        "output",
        Output,
        format_option(*formats),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            help="Whether to use colours; auto honours NO_COLOR and FORCE_COLOR.",
        ),
        click.option(
            "--width", type=click.IntRange(40, MAX_REPORT_WIDTH), help="Width of text output in characters."
        ),
        verbose_option,
        *([out_option] if file else []),
    )


def schema_option(
    module: str, name: str, option: str = "--schema", text: str = "Print the JSON Schema of -o json."
) -> Decorator:
    """Return an option that prints a JSON Schema and ends the command with exit code 0.

    Args:
        module: the module of the schema, which is imported only if the option is given.
        name: a dict in that module, or a function that returns one.
        option: the name of the option.
        text: the option's text in help.
    """

    def show(ctx: click.Context, option: click.Parameter, value: bool) -> None:  # noqa: ARG001
        # Completion also parses the command line (`resilient_parsing`), and must not print a schema.
        if value and not ctx.resilient_parsing:
            from copartition.kit.json import dump  # noqa: PLC0415 - only --schema needs it

            schema = getattr(import_module(module), name)
            write(dump(schema if isinstance(schema, dict) else schema()))
            ctx.exit()

    return click.option(option, is_flag=True, is_eager=True, expose_value=False, callback=show, help=text)


class _Weights(click.Path):
    """A click type: the path of a file, or the word "lag"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return "lag" as it is, any other value as click.Path does, which checks that the file exists."""
        return value if value == "lag" else super().convert(value, param, ctx)


def weights_option(use: str) -> Decorator:
    """Return the option --weights: a path, or "lag" for the number of uncommitted records of each partition.

    Args:
        use: the end of the help text, which says to which strategies weights apply.
    """
    return click.option(
        "--weights",
        type=_Weights(exists=True, dir_okay=False),
        metavar="FILE|lag",
        help="The weight of each partition, in a file (JSON, YAML or CSV); lag: the records that wait in it. "
        f"{use}",
    )


def check_option(example: str) -> Decorator:
    """Return the option --check, which a command gets as `checks`, a tuple of texts such as "moves<=5"."""
    text = f"A limit that must hold, such as {example}; repeatable."
    return click.option("--check", "checks", multiple=True, metavar="EXPR", help=text)


def seed_option(text: str, default: int | None = None) -> Decorator:
    """Return the option --seed, an integer from 0 on that seeds the random numbers."""
    return count_option("--seed", text, default, least=0)


def ms_option(
    name: str, text: str, *names: str, default: float | None = None, many: bool = False
) -> Decorator:
    """Return an option whose value is a time in milliseconds, at least 0; help shows the default.

    Args:
        name: the long name, such as "--start-ms".
        text: the option's text in help.
        names: further names.
        default: milliseconds; None for no default.
        many: whether the option may be repeated; then the command gets a tuple.
    """
    return click.option(
        name,
        *names,
        type=FiniteRange(min=0),
        default=default,
        show_default=default is not None,
        multiple=many,
        metavar="MS",
        help=text,
    )


def time_option(name: str, text: str, *names: str, default: str | None = None) -> Decorator:
    """Return an option whose value is a time with its unit, such as 30s; a command gets milliseconds.

    Args:
        name: the long name, such as "--interval".
        text: the option's text in help.
        names: further names.
        default: the default as text, such as "10s"; None for no default.
    """
    return click.option(
        name,
        *names,
        callback=read_time,
        default=default,
        show_default=default is not None,
        metavar="TIME",
        help=text,
    )


def partitions_option(text: str, most: int, *, required: bool = False) -> Decorator:
    """Return the option -n, the partition count of a topic, which a command gets as `partitions`.

    Args:
        text: the option's text in help.
        most: the largest count; the least is 1.
        required: whether the option must be given.
    """
    return click.option("-n", "--partitions", type=click.IntRange(1, most), required=required, help=text)


def count_option(name: str, text: str, default: int | None = None, *, least: int = 1) -> Decorator:
    """Return an option whose value is an integer; help shows the default.

    Args:
        name: the long name, such as "--seed".
        text: the option's text in help.
        default: the value without the option; None for no default.
        least: the least value.
    """
    return click.option(
        name, type=click.IntRange(least), default=default, show_default=default is not None, help=text
    )


def set_option(text: str) -> Decorator:
    """Return the repeatable option --set, which a command gets as `changes`, a dict of texts by key.

    If a key is given twice, its last value counts.
    """
    return repeated_option(
        "--set", "changes", read=_change, build=dict, metavar="KEY=VALUE", text=f"{text}; repeatable."
    )


def strategy_option(text: str) -> Decorator:
    """Return the repeatable option --config, which a command gets as `assignor_settings`, a dict by name.

    A value is JSON if it reads as JSON, such as 3, true or [1, 2]; else it is the text.
    """
    return repeated_option(
        "--config",
        "assignor_settings",
        read=_setting,
        build=dict,
        metavar="KEY=VALUE",
        text=f"{text}; repeatable.",
    )


def _setting(text: str, option: str) -> tuple[str, object]:
    """Return (name, value) of a strategy's setting, as described in `strategy_option`."""
    import json  # noqa: PLC0415 - help and completion do without

    name, value = _change(text, option)
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):  # RecursionError: thousands of brackets
        return name, value


def read_time(ctx: click.Context, option: click.Parameter, value: str | None) -> float | None:  # noqa: ARG001 - click's interface
    """Return a time with a unit in milliseconds, None for no value.

    Raises:
        click.BadParameter: the text has no unit, or is not a time.
    """
    if value is None:
        return None
    from copartition.simulation.inputs.durations import TIME, UNITS, milliseconds_of  # noqa: PLC0415 - as above

    if not re.fullmatch(TIME, value):
        raise click.BadParameter(
            f"{value!r} is no time such as 30s; units are {', '.join(UNITS)}", param_hint=option.opts[0]
        )
    return milliseconds_of(value)


def read_range(ctx: click.Context, option: click.Parameter, value: str | None) -> object:
    """Return a time in milliseconds; for a range LOW..HIGH, the `Uniform` that draws from it.

    Raises:
        click.BadParameter: a part is no time with a unit, or the range ends before it begins.
    """
    if value is None or ".." not in value:
        return read_time(ctx, option, value)
    from copartition.simulation.inputs.durations import Uniform  # noqa: PLC0415 - help and completion do without

    low, high = (read_time(ctx, option, text.strip()) or 0.0 for text in value.split("..", 1))
    if low > high:
        raise click.BadParameter(f"{value!r} ends before it begins", param_hint=option.opts[0])
    return Uniform(low, high)


def _change(text: str, option: str) -> tuple[str, str]:
    """Return (key, value) of a text KEY=VALUE, without blanks around them; an error names `option`."""
    key, sign, value = text.partition("=")
    if not key.strip() or not sign:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=option)
    return key.strip(), value.strip()


def repeated_option(
    *names: str,
    read: Callable[[str, str], Any],
    build: Callable[[Iterable[Any]], object] = tuple,
    metavar: str,
    text: str,
) -> Decorator:
    """Return a repeatable option, whose values are read one by one and then collected.

    Args:
        names: the names of the option, and of the command's argument.
        read: gets a value and the name of the option, and returns what the value means; it raises
            `click.BadParameter` for a value that it cannot read.
        build: makes the command's argument from the results, in the order of the command line.
        metavar: the placeholder for a value in help.
        text: the option's text in help.
    """

    def read_all(ctx: click.Context, option: click.Parameter, values: Sequence[str]) -> object:  # noqa: ARG001
        return build(read(value, option.opts[0]) for value in values)

    return click.option(*names, callback=read_all, multiple=True, metavar=metavar, help=text)


def only_option(what: str, name: str, text: str) -> Decorator:
    """Return the option --only-WHAT REGEX, which a command gets as `name`: a pattern to search with, or None.

    Args:
        what: "topic" or "member".
        name: the argument of the command.
        text: the option's text in help.
    """
    return click.option(f"--only-{what}", name, callback=_pattern, metavar="REGEX", help=text)


def _pattern(ctx: click.Context, option: click.Parameter, text: str | None) -> Pattern[str] | None:
    """Return the user's regular expression; None if none is given.

    Raises:
        click.BadParameter: the text is no regular expression, or too large for one.
    """
    if text is None:
        return None
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise click.BadParameter(f"{text!r} is no regular expression: {error}", ctx, option) from None


def topics_option(text: str) -> Decorator:
    """Return the repeatable option --topic TOPIC=N, which a command gets as `topics`.

    `topics` is a tuple of (topic, partition count) in the order of the command line. A topic may be in it
    twice.
    """
    return repeated_option("--topic", "topics", read=_topic_count, metavar="TOPIC=N", text=text)


def grow_option(text: str, name: str = "grow") -> Decorator:
    """Return the repeatable option --grow TOPIC=N, which a command gets as a dict topic -> partition count.

    Args:
        text: the option's text in help.
        name: the argument of the command.
    """
    return repeated_option("--grow", name, read=_topic_count, build=dict, metavar="TOPIC=N", text=text)


def members_option(*names: str, id_: str, text: str) -> Decorator:
    """Return a repeatable option for members that join, which a command gets as a tuple of `Joiner`.

    Args:
        names: the names of the option, and of the command's argument.
        id_: the placeholder for a member's id in help, such as "CLIENT".
        text: the option's text in help.
    """
    # `_new_member` reads this form for all commands; only the word for the id differs.
    metavar = f"{id_}[:INSTANCE][@TOPIC,..]"
    return repeated_option(*names, read=_new_member, metavar=metavar, text=text)


def _topic_count(text: str, option: str) -> tuple[str, int]:
    """Return (topic, partition count) of a text TOPIC=N with N from 0 to `MAX_GROUP_PARTITIONS`.

    Raises:
        click.BadParameter: the text has another form; the message names `option`.
    """
    # The last "=" counts, so that the error shows the whole name if a topic's name contains "=".
    topic, _, digits = text.rpartition("=")
    count = parse_number(digits, MAX_GROUP_PARTITIONS)
    if not topic or count is None:
        raise click.BadParameter(
            f"{text!r} is not TOPIC=N with N up to {MAX_GROUP_PARTITIONS}", param_hint=option
        )
    return topic, count


def _new_member(text: str, option: str) -> Joiner:
    """Return the member of a text CLIENT[:INSTANCE][@TOPIC,..]; without topics, `Joiner.topics` is None.

    Raises:
        click.BadParameter: the client or the instance is empty, or a topic is; the message names `option`.
    """
    from copartition.groups.planned_members import Joiner  # noqa: PLC0415 - help and completion do without

    # A topic's name contains no @, but a client id may. So the topics begin after the last @.
    who, at, topics = text.rpartition("@") if "@" in text else (text, "", "")
    client, colon, instance = who.partition(":")
    if not client or (colon and not instance):
        raise click.BadParameter(f"{text!r} is not CLIENT[:INSTANCE][@TOPIC,..]", param_hint=option)
    return Joiner(client, instance or None, split_topics(topics, text, option) if at else None)


def split_topics(text: str, whole: str, option: str) -> tuple[str, ...]:
    """Return the topics of a text with commas, each topic once, in the order of first appearance.

    Args:
        text: the part of the option's value that lists topics.
        whole: the whole value, which an error shows.
        option: the name of the option, which an error shows.

    Raises:
        click.BadParameter: a name is empty.

    >>> split_topics("orders, payments,orders", "a@orders, payments,orders", "--member")
    ('orders', 'payments')
    """
    topics = tuple(topic.strip() for topic in text.split(","))
    if not all(topics):
        raise click.BadParameter(f"{whole!r} has an empty name among its topics", param_hint=option)
    return tuple(dict.fromkeys(topics))


def _build_pace(**values: Any) -> object:
    """Return the `Pace` with the options that were given, and its own defaults for the others.

    Args:
        values: name of the field of `Pace` -> value; None if the option was not given.
    """
    # `Pace` alone has the defaults, so options that were not given must not reach it, not even as None.
    given = {name: value for name, value in values.items() if value is not None}
    return build_lazily("copartition.deploys.pace", "Pace")(**given)


pace_options = one_argument(
    "pace",
    _build_pace,
    click.option(
        "--down",
        "down_ms",
        callback=read_range,
        metavar="TIME|LOW..HIGH",
        help="How long a restarted member is away, or a new member takes to start; by default 10s. From "
        "LOW..HIGH, a time is drawn for each member.",
    ),
    time_option(
        "--ready",
        "In a surge, how long a new member runs before the next one is replaced; by default 10s.",
        "ready_ms",
    ),
    time_option(
        "--every",
        "Time from one restart to the next, and between two kinds of change; by default 1min.",
        "every_ms",
    ),
    set_option(
        "A timeout, a cost or a field of the load, such as session.timeout.ms=10000, revoke_ms=500 or "
        "load.rate=50"
    ),
    parameters=("down_ms", "ready_ms", "every_ms", "changes"),
)
"""Options for the pace of a deploy and for what takes time; a command gets them as `pace`, a `Pace`."""
