"""Options that several commands have, each from one place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from importlib import import_module
from inspect import signature
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from copartition.shell.commands import Output, write
from partitioning.kit.limits import MAX_GROUP_PARTITIONS, MAX_REPORT_WIDTH, parse_number

if TYPE_CHECKING:
    from copartition.assignment_diff.planned_members import Joiner

    Command = Callable[..., None]
    Decorator = Callable[[Command], Command]


class FiniteRange(click.FloatRange):
    """A number within bounds, but neither NaN nor infinite, which click takes for one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def one_argument(
    name: str, build: Callable[..., Any], *options: Decorator, parameters: Collection[str] = ()
) -> Decorator:
    """Several click options as the one argument `name`: what `build` returns for parameters so named.

    `parameters` names them where `build` itself does not.
    """
    parameters = parameters or signature(build).parameters

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_argument(*args: Any, **values: Any) -> None:
            own = {parameter: values.pop(parameter) for parameter in parameters if parameter in values}
            command(*args, **{name: build(**own)}, **values)

        decorated: Command = with_argument
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def build_lazily(module: str, name: str) -> Callable[..., Any]:
    """Return what calls the class of this name with keywords, and imports its module only then."""

    def build(**fields: Any) -> Any:
        return getattr(import_module(module), name)(**fields)

    return build


def _remember_verbose(ctx: click.Context, option: click.Parameter, value: bool) -> None:  # noqa: ARG001
    ctx.meta["verbose"] = value  # QuietCommand reads it


verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_remember_verbose,
    help="Show where an error comes from.",
)
group_option = click.option("--group", metavar="NAME", help="Which group of a file that holds several.")
html_option = click.option(
    "--html", type=click.Path(dir_okay=False), help="File for a page with pictures, besides what is printed."
)
out_option = click.option("--out", type=click.Path(dir_okay=False), help="File for what would be printed.")


def format_option(*formats: str, text: str = "Format.") -> Decorator:
    """Return the option -o, which a command gets as `form`; the first format is the default."""
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
    """Return the options -o, --color, --width and -v, and with `file` --out, got as one argument, `output`."""
    return one_argument(
        "output",
        Output,
        format_option(*formats),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            help="Colours; auto honours NO_COLOR and FORCE_COLOR.",
        ),
        click.option("--width", type=click.IntRange(40, MAX_REPORT_WIDTH), help="Columns of text output."),
        verbose_option,
        *([out_option] if file else []),
    )


def schema_option(
    module: str, name: str, option: str = "--schema", text: str = "Print the JSON Schema of -o json."
) -> Decorator:
    """Return the option --schema, which prints the schema of this name, imported only then, and ends the command."""

    def show(ctx: click.Context, option: click.Parameter, value: bool) -> None:  # noqa: ARG001
        if value and not ctx.resilient_parsing:
            from copartition.kit.json import dump  # noqa: PLC0415 - only --schema needs it

            schema = getattr(import_module(module), name)
            write(dump(schema if isinstance(schema, dict) else schema()))
            ctx.exit()

    return click.option(option, is_flag=True, is_eager=True, expose_value=False, callback=show, help=text)


class _Weights(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "lag" else super().convert(value, param, ctx)


def weights_option(use: str) -> Decorator:
    """Return the option --weights: a file, or "lag" for what waits in each partition of the source."""
    return click.option(
        "--weights",
        type=_Weights(exists=True, dir_okay=False),
        metavar="FILE|lag",
        help=f"What partitions weigh (JSON, YAML or CSV; lag: the records that wait in each): {use}",
    )


def check_option(example: str) -> Decorator:
    """Return the option --check, got as `checks`."""
    text = f"A limit that must hold, such as {example}; repeatable."
    return click.option("--check", "checks", multiple=True, metavar="EXPR", help=text)


def seed_option(text: str, default: int | None = None) -> Decorator:
    """Return the option --seed of what comes by chance."""
    return count_option("--seed", text, default, least=0)


def ms_option(
    name: str, text: str, *names: str, default: float | None = None, many: bool = False
) -> Decorator:
    """Return an option in milliseconds, whose default help shows; `many` makes it repeatable."""
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


def partitions_option(text: str, most: int, *, required: bool = False) -> Decorator:
    """Return the option -n, how many partitions a topic has."""
    return click.option("-n", "--partitions", type=click.IntRange(1, most), required=required, help=text)


def count_option(name: str, text: str, default: int | None = None, *, least: int = 1) -> Decorator:
    """Return an option of so many of something, whose default help shows."""
    return click.option(
        name, type=click.IntRange(least), default=default, show_default=default is not None, help=text
    )


def set_option(text: str) -> Decorator:
    """Return the option --set, got as `changes`: texts by key."""
    return repeated_option(
        "--set", "changes", read=_change, build=dict, metavar="KEY=VALUE", text=f"{text}; repeatable."
    )


def _change(text: str, option: str) -> tuple[str, str]:
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
    """Return a repeatable option, got as `build` of what `read` returns for each value and the option's name."""

    def read_all(ctx: click.Context, option: click.Parameter, values: Sequence[str]) -> object:  # noqa: ARG001
        return build(read(value, option.opts[0]) for value in values)

    return click.option(*names, callback=read_all, multiple=True, metavar=metavar, help=text)


def topics_option(text: str) -> Decorator:
    """Return the option --topic for topics that no cluster describes, got as `topics`: pairs."""
    return repeated_option("--topic", "topics", read=_topic_count, metavar="TOPIC=N", text=text)


def grow_option(text: str, name: str = "grow") -> Decorator:
    """Return the option --grow, got as `name`: counts by topic."""
    return repeated_option("--grow", name, read=_topic_count, build=dict, metavar="TOPIC=N", text=text)


def members_option(*names: str, id_: str, text: str) -> Decorator:
    """Return an option for members that join, which help shows by what it calls their id."""
    metavar = f"{id_}[:INSTANCE][@TOPIC,..]"
    return repeated_option(*names, read=_new_member, metavar=metavar, text=text)


def _topic_count(text: str, option: str) -> tuple[str, int]:
    topic, _, digits = text.rpartition("=")
    count = parse_number(digits, MAX_GROUP_PARTITIONS)
    if not topic or count is None:
        raise click.BadParameter(
            f"{text!r} is not TOPIC=N with N up to {MAX_GROUP_PARTITIONS}", param_hint=option
        )
    return topic, count


def _new_member(text: str, option: str) -> Joiner:
    from copartition.assignment_diff.planned_members import Joiner  # noqa: PLC0415 - help and completion do without

    # No topic has an @ in its name.
    who, at, topics = text.rpartition("@") if "@" in text else (text, "", "")
    client, colon, instance = who.partition(":")
    if not client or (colon and not instance):
        raise click.BadParameter(f"{text!r} is not CLIENT[:INSTANCE][@TOPIC,..]", param_hint=option)
    return Joiner(client, instance or None, split_topics(topics, text, option) if at else None)


def split_topics(text: str, whole: str, option: str) -> tuple[str, ...]:
    """Return topics with commas between, each once; an error of an empty name shows `whole` and `option`."""
    topics = tuple(topic.strip() for topic in text.split(","))
    if not all(topics):
        raise click.BadParameter(f"{whole!r} has an empty name among its topics", param_hint=option)
    return tuple(dict.fromkeys(topics))
