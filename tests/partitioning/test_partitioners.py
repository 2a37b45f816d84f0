"""Partitioners by name: ours, registered ones, and those of installed packages."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.metadata import EntryPoint, EntryPoints
from types import SimpleNamespace

import pytest

import partitioning
from partitioning import partition_for_key
from partitioning.errors import (
    BrokenPluginError,
    InvalidConfigError,
    StrategyConflictError,
    UnknownStrategyError,
)
from partitioning.interface import Partitioner
from partitioning.partitioners import get_partitioner, list_partitioners
from partitioning.plug_ins import STRATEGIES, PlugIns
from partitioning.profiles import PROFILES
from partitioning.registry import Registry
from partitioning.round_robin import RoundRobin
from partitioning.strategy import seeded_source

OURS = {"default", "sticky", "sticky-per-batch", "sticky-by-time", "round-robin", "random", *PROFILES}


def reproducible(name):
    """A maker of equal instances: strategies that draw get a seed."""

    def make():
        partitioner = get_partitioner(name)
        return (
            replace(partitioner, random=seeded_source(3)) if hasattr(partitioner, "random") else partitioner
        )

    return make


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_partitioner_knows_its_name(name):
    assert get_partitioner(name).name == name


def test_names_of_ours_are_taken_before_they_are_made():
    assert {*STRATEGIES} == OURS - PROFILES.keys()


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_places_keys_by_its_rule(name):
    expected = partition_for_key(b"key", 100, profile=name)
    topic = get_partitioner(name).for_topic("topic")
    assert topic.partition(b"key", partitioning.TopicLayout(100)) == expected


def test_all_are_listed():
    infos = {info.name: info for info in list_partitioners()}
    assert infos.keys() >= OURS
    assert all(info.summary and info.fault is None for info in infos.values() if info.origin == "built-in")


def test_a_setting_it_does_not_have_is_refused():
    with pytest.raises(InvalidConfigError, match=r"'java'.*'linger'"):
        get_partitioner("java", linger=3)


def test_an_unknown_name_is_refused_with_close_ones():
    with pytest.raises(UnknownStrategyError, match="did you mean round-robin"):
        get_partitioner("roundrobin")


def entry(name, value, distribution):
    return EntryPoint(name, value, "tests.partitioners")._for(SimpleNamespace(name=distribution))


@pytest.fixture
def registry(monkeypatch, tmp_path):
    """A registry with one strategy of ours and the plug-ins of six packages."""
    (tmp_path / "module_that_exits.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    points = EntryPoints(
        (
            entry("in-turn", "partitioning.round_robin:RoundRobin", "good"),
            entry("gone", "no_such_module:Thing", "broken"),
            entry("leaves", "module_that_exits:Thing", "rude"),
            entry("constant", "partitioning.placement:UNKEYED", "odd"),
            entry("twice", "partitioning.sticky:Sticky", "first"),
            entry("twice", "partitioning.sticky:Sticky", "second"),
            entry("ours", "partitioning.sticky:Sticky", "thief"),
        )
    )
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points.select(group=group))
    plug_ins = PlugIns[Partitioner]("partitioner", "tests.partitioners", Partitioner)
    return Registry(plug_ins, {"ours": RoundRobin})


def test_a_plugin_is_found_and_configured(registry):
    assert registry.get("in-turn", start=3) == RoundRobin(start=3)


def test_a_built_in_name_is_not_taken_by_a_plugin(registry):
    assert isinstance(registry.get("ours"), RoundRobin)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("gone", BrokenPluginError, "'gone' of broken cannot be loaded: .*no_such_module"),
        ("leaves", BrokenPluginError, r"'leaves' of rude cannot be loaded: SystemExit\(3\)"),
        ("constant", BrokenPluginError, "'constant' of odd is not callable"),
        ("twice", StrategyConflictError, "'twice' comes from first and second"),
    ],
)
def test_a_plugin_that_cannot_be_used_raises_when_asked_for(registry, name, error, message):
    with pytest.raises(error, match=message):
        registry.get(name)


def test_plugins_that_cannot_be_used_are_listed_with_their_fault(registry):
    faults = {(info.name, info.origin): info.fault for info in registry.infos()}
    assert faults["in-turn", "good"] is None
    assert faults["ours", "built-in"] is None
    assert "cannot be loaded" in faults["gone", "broken"]
    assert "cannot be loaded" in faults["leaves", "rude"]
    assert "not callable" in faults["constant", "odd"]
    assert "first and second" in faults["twice", "first and second"]
    assert "cannot be replaced" in faults["ours", "thief"]


def test_an_interrupt_while_a_plugin_is_loaded_passes(registry, tmp_path):
    (tmp_path / "module_that_exits.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        registry.infos()


def test_the_summary_is_the_first_line_of_the_docstring(registry):
    (info,) = (info for info in registry.infos() if info.name == "in-turn")
    assert info.summary.startswith("One partition after the other")


def test_registered_strategies_are_found(registry):
    registry.plug_ins.register("mine", RoundRobin)
    assert registry.get("mine") == RoundRobin()
    assert ("mine", "registered") in {(info.name, info.origin) for info in registry.infos()}


@pytest.mark.parametrize("name", ["ours", "mine"])
def test_a_taken_name_cannot_be_registered(registry, name):
    registry.plug_ins.register("mine", RoundRobin)
    with pytest.raises(StrategyConflictError, match=f"'{name}' is"):
        registry.plug_ins.register(name, RoundRobin)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (dict, "partitioner 'mine' is {}, which lacks name and for_topic"),
        (lambda: {}["a setting"], "partitioner 'mine' cannot be made: KeyError: 'a setting'"),
    ],
)
def test_what_a_plugin_makes_is_a_partitioner(registry, factory, message):
    registry.plug_ins.register("mine", factory)
    with pytest.raises(BrokenPluginError, match=message):
        registry.get("mine")


def test_a_setting_that_a_plugin_refuses_is_told_as_it_says(registry):
    registry.plug_ins.register("mine", partial(get_partitioner, "no such profile"))
    with pytest.raises(UnknownStrategyError, match="no such profile"):
        registry.get("mine")


def test_the_public_names_exist():
    assert all(hasattr(partitioning, name) for name in partitioning.__all__)
