"""Drills of the commands that predict: is the figure that was said the figure that came?"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from benchmarks.consumers.clients import JAVA
from benchmarks.drills.drill import Drill, Outcome
from benchmarks.drills.judging import figure, never, says
from benchmarks.drills.migrating import NAMES
from benchmarks.drills.stage import strategies
from benchmarks.rebalances.measure import outages, readings
from benchmarks.rebalances.producer import SteadyProducer

if TYPE_CHECKING:
    from benchmarks.drills.stage import Stage

RANGE = strategies("range")


def add_members(stage: Stage) -> Outcome:
    """Ask what three more members move, and start them with the next names."""
    stage.create(24)
    stage.form([*NAMES, "pod-3"], RANGE)
    before = stage.settle()
    stage.ask("diff", stage.live, "plan:current", "--add-members", "3")
    for number in range(4, 7):
        stage.start(f"pod-{number}", RANGE)
    after = stage.settle()
    moved = sum(before[place] != owner for place, owner in after.items())
    return Outcome("pod-4, pod-5 and pod-6 were started", f"{moved} partitions moved", {"moved": moved})


def rolling_restart(stage: Stage) -> Outcome:
    """Ask how long a rolling restart pauses a partition at most, and do it under steady records."""
    topic = stage.create(8)
    names = [*NAMES, "pod-3"]
    with SteadyProducer(stage.servers) as producer:
        producer.begin(topic, 8)
        stage.form(names, RANGE, JAVA)
        time.sleep(5)
        stage.ask("diff", stage.live, "plan:current", "--deploy", "rolling")
        began = time.monotonic()
        fault = stage.roll(RANGE, JAVA)
        time.sleep(5)
        until = time.monotonic()
        producer.stop(topic)
    read = [
        reading
        for number, member in enumerate(stage.members)
        for reading in readings(f"{member.name}.{number}", member.output(), until)
    ]
    longest = outages(read, dict.fromkeys(range(8), began), until).longest
    return Outcome(
        "the members were restarted one after the other",
        f"a partition was without a reader for {longest:.1f} s at most ({fault or 'all lived'})",
        {"longest pause in seconds": round(longest, 1)},
    )


def growth(stage: Stage) -> Outcome:
    """Ask what growth costs while producers write to new partitions at once, and members read from latest."""
    topic = stage.create(4)
    age = {"metadata.max.age.ms": 30_000}
    with SteadyProducer(stage.servers) as producer:
        producer.begin(topic, 4)
        stage.form(NAMES, RANGE | age, JAVA)
        stage.ask("diff", stage.live, "plan:current", "--grow", f"{topic}=8")
        stage.grow(8)
        producer.go_on(topic, 8)
        stage.ask("doctor", stage.group, "--interval", "1s")
        stage.settle()
        time.sleep(8)
        producer.stop(topic)
    first: dict[int, int] = {}
    for member in stage.members:
        for event in member.output():
            for partition, (offset, _) in event.get("offsets", {}).items():
                number = int(partition)
                first[number] = min(first.get(number, offset), offset)
    lost = {number: first[number] for number in range(4, 8) if number in first}
    return Outcome(
        "the topic grew from 4 to 8 partitions, and producers wrote 10 records a second to each at once",
        f"records of the new partitions that no member ever read: {lost}",
        {"records lost": sum(lost.values())},
    )


def static_deploy(stage: Stage) -> Outcome:
    """Ask what a rolling deploy of static members stops, and do it: nothing rebalances."""
    stage.create(6)
    stage.form_static(NAMES, RANGE)
    stage.ask("diff", stage.live, "plan:current", "--deploy", "rolling")
    before = sum(len(stage.revocations(name)) for name in NAMES)
    for name in NAMES:
        stage.close(name)
        stage.form_static([name], RANGE)
    given_up = sum(len(stage.revocations(name)) for name in NAMES) - before
    return Outcome(
        "the members were closed and started one after the other",
        f"members that were not restarted gave up partitions {given_up} times",
        {"rebalances": given_up},
    )


def plan_early(stage: Stage) -> Outcome:
    """Compare a plan with the group before the plan is carried out."""
    stage.create(6)
    stage.form(NAMES, RANGE)
    stage.ask("diff", stage.live, "plan:current", "--deploy", "rolling", "--save", "plan.json")
    stage.ask("diff", "plan.json", stage.live)
    return Outcome("nothing: no member was restarted", "the group was as before", {"restarts": 0})


def page_title(stage: Stage) -> Outcome:
    """Look at the title of the page of a deploy that stops everything again and again."""
    stage.create(6)
    stage.form(NAMES, RANGE)
    stage.ask("diff", stage.live, "plan:current", "--deploy", "rolling", "--html", "page.html")
    text = (stage.folder / "page.html").read_text()
    titles = re.findall(r"<(?:title|h1)[^>]*>(.*?)</", text, re.DOTALL)
    told = "\n".join(" ".join(title.split()) for title in titles)
    stage.keep_answer("diff --html: title and heading", 0, told)
    before = len(stage.revocations("pod-2"))
    stage.roll(RANGE)
    stops = len(stage.revocations("pod-2")) - before
    return Outcome(
        "the members were restarted one after the other",
        f"pod-2 gave up its partitions {stops} times",
        {"stops": stops},
    )


DRILLS = (
    Drill(
        "add-members",
        "a range group pod-0 to pod-3 of 24 partitions",
        add_members,
        (figure(r"(\d[\d,]*)(?: to (\d[\d,]*))?(?: of [\d,]+ partitions)? move", "moved"),),
    ),
    Drill(
        "longest-pause",
        "a Java range group of 4 and 8 partitions with steady records",
        rolling_restart,
        (figure(r"longest pause (?:[\d.]+ m?s to )?([\d.]+) s", "longest pause in seconds", most=True),),
    ),
    Drill(
        "growth-latest",
        "a Java group with auto.offset.reset=latest whose topic grows under producers",
        growth,
        (
            says("auto.offset.reset|skip|lost|lose", "that records are lost", 0),
            never("start members that subscribe", "the members subscribe, and will notice by themselves", 1),
        ),
    ),
    Drill(
        "deploy-of-static-members",
        "a range group of 3 static members before a rolling deploy",
        static_deploy,
        (never(r"stops: 0 rebalances", "nobody understands it: no rebalance, and yet partitions wait"),),
    ),
    Drill(
        "plan-not-carried-out",
        "a plan of a rolling deploy, saved and not carried out",
        plan_early,
        (never("the plan came true", "nothing was done", 1),),
    ),
    Drill(
        "page-of-a-deploy",
        "a range group of 3, whose deploy stops everything six times",
        page_title,
        (never("nothing changed", "the deploy stops everything six times", 1),),
    ),
)
