"""The options that change a plan, from their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from partitioning.kit.limits import MAX_GROUP_PARTITIONS, parse_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.groups import Joiner, WhatIf
    from copartition.simulation.inputs.settings import Settings


def read_what_if(
    *,
    add_members: int,
    add_member: Sequence[str],
    remove_member: tuple[str, ...],
    partitions: Sequence[str],
    subscribe: Sequence[str],
    rolling_restart: bool,
) -> WhatIf:
    """The change that the options ask for.

    Raises:
        click.BadParameter: the text of one is none.
    """
    from copartition.groups import WhatIf  # noqa: PLC0415 - help and completion do without

    return WhatIf(
        add_members=add_members,
        joining=tuple(read_member(text, "--add-member") for text in add_member),
        remove_members=remove_member,
        partitions=dict(read_count(text, "--partitions") for text in partitions),
        subscribe=dict(map(_subscription, subscribe)),
        rolling_restart=rolling_restart,
    )


def read_timing(changes: Sequence[str]) -> Settings:
    """The timeouts that --set changes, as `copartition simulate` reads them.

    Raises:
        click.BadParameter: one is no KEY=VALUE.
        ScenarioError: no such timeout, or one that cannot be.
    """
    from copartition.simulation.inputs.file import scenario_from_dict  # noqa: PLC0415 - needs msgspec

    given = {}
    for text in changes:
        key, sign, value = text.partition("=")
        if not key.strip() or not sign:
            raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--set")
        given[key.strip()] = int(value) if value.strip().isdecimal() and len(value) < 19 else value.strip()
    return scenario_from_dict({"topics": {"any": 1}, "consumers": 1, "settings": given}).settings


def read_member(text: str, option: str) -> Joiner:
    """CLIENT[:INSTANCE][@TOPIC,..]; no topic has an @ in its name.

    Raises:
        click.BadParameter: the text of the option is no such thing.
    """
    from copartition.groups import Joiner  # noqa: PLC0415 - help and completion do without

    who, at, topics = text.rpartition("@") if "@" in text else (text, "", "")
    client, colon, instance = who.partition(":")
    if not client or (colon and not instance):
        raise click.BadParameter(f"{text!r} is not CLIENT[:INSTANCE][@TOPIC,..]", param_hint=option)
    return Joiner(client, instance or None, _topics(topics, text, option) if at else None)


def _subscription(text: str) -> tuple[str, tuple[str, ...]]:
    member, _, topics = text.rpartition("=")
    if not member:
        raise click.BadParameter(f"{text!r} is not MEMBER=TOPIC,..", param_hint="--subscribe")
    return member, _topics(topics, text, "--subscribe")


def _topics(text: str, whole: str, option: str) -> tuple[str, ...]:
    topics = tuple(topic.strip() for topic in text.split(","))
    if not all(topics):
        raise click.BadParameter(f"{whole!r} has an empty name among its topics", param_hint=option)
    return tuple(dict.fromkeys(topics))


def read_count(text: str, option: str) -> tuple[str, int]:
    """TOPIC=N.

    Raises:
        click.BadParameter: the text of the option is no such thing.
    """
    topic, _, digits = text.rpartition("=")
    count = parse_number(digits, MAX_GROUP_PARTITIONS)
    if not topic or count is None:
        raise click.BadParameter(
            f"{text!r} is not TOPIC=N with N up to {MAX_GROUP_PARTITIONS}", param_hint=option
        )
    return topic, count
