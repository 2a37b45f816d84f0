"""Define the command `copartition reshape`, which gives a topic in use another partition count or rule."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import Output, command, complain, end_of_help
from copartition.shell.options import one_argument, output_options, pace_options, schema_option
from partitioning.kit.limits import MAX_PARTITION

if TYPE_CHECKING:
    from copartition.deploys.pace import Pace

HELP_END = end_of_help(__package__)


class StepChoice(NamedTuple):
    """The step that the options name, and what it needs.

    Attributes:
        mode: "copy", "switch", "prove" or "back"; None for the plan.
        key: the new topic's key, an expression of Spark's SQL over the old record; None if the key stays.
        checkpoint: the folder in which Spark notes how far the copy is; None if the options name none.
        until_behind: the copy ends after a round during which the old topic got at most this many offsets.
        groups: names of the groups at the switch, in the proof and on the way back; empty for all.
        execute: whether positions are written (switch) or removed (back), and not only shown.
    """

    mode: str | None
    key: str | None
    checkpoint: str | None
    until_behind: int
    groups: tuple[str, ...]
    execute: bool


def _choose_step(*, copy: bool, switch: bool, prove: bool, back: bool, **others: Any) -> StepChoice:
    """Return the step that the options ask for together.

    Args:
        copy: `--copy`.
        switch: `--switch`.
        prove: `--prove`.
        back: `--back`.
        others: the attributes of the `StepChoice` except its mode.

    Raises:
        UsageError: two steps at once, or an option that the step does not take.
    """
    asked = {"copy": copy, "switch": switch, "prove": prove, "back": back}
    chosen = [mode for mode, is_asked in asked.items() if is_asked]
    if len(chosen) > 1:
        raise click.UsageError(f"--{chosen[0]} and --{chosen[1]} are two steps; take one after the other")
    choice = StepChoice(chosen[0] if chosen else None, **others)
    mode = choice.mode
    if mode in {"copy", "switch"} and choice.checkpoint is None:
        raise click.UsageError(
            f"--{mode} needs --checkpoint FOLDER, in which the copy notes how far it is: the same one "
            "each time"
        )
    if choice.execute and mode not in {"switch", "back"}:
        raise click.UsageError("--execute goes with --switch or --back")
    if choice.key is not None and mode not in {"copy", "switch", "prove"}:
        # The plan reads a sample of keys and no values, and a new key may be computed from values.
        raise click.UsageError(
            "--key goes with --copy, --switch and --prove. The plan reads no values, so it cannot tell "
            "whether records of a new key lie in several partitions; --prove counts such keys"
        )
    return choice


_step_options = one_argument(
    "step",
    _choose_step,
    click.option("--copy", is_flag=True, help="Copy the records with Spark, until few are left to copy."),
    click.option(
        "--switch",
        is_flag=True,
        help="Check that no writer writes, copy the rest with Spark, and show where each group goes on.",
    ),
    click.option("--prove", is_flag=True, help="Compare both topics key by key with Spark."),
    click.option(
        "--back", is_flag=True, help="Undo a switch; possible only until a writer has moved to the new topic."
    ),
    click.option(
        "--execute",
        is_flag=True,
        help="Also write the groups' positions (--switch) or remove them (--back), not only show them.",
    ),
    click.option(
        "--group",
        "groups",
        multiple=True,
        metavar="NAME",
        help="With --switch, --prove or --back: only this group; repeatable.",
    ),
    click.option(
        "--key",
        metavar="SQL",
        help="The new topic's key: an expression of Spark's SQL over key, value, headers and timestamp of an "
        "old record. Give the same one with --copy, --switch and --prove.",
    ),
    click.option(
        "--checkpoint",
        type=click.Path(file_okay=False),
        metavar="FOLDER",
        help="The folder in which Spark notes how far the copy is; the same one each time.",
    ),
    click.option(
        "--until-behind",
        type=click.IntRange(0),
        default=10_000,
        show_default=True,
        metavar="N",
        help="--copy ends after a round during which at most N records were written to the topic.",
    ),
    parameters=("copy", "switch", "prove", "back", *StepChoice._fields[1:]),
)
"""The options of the steps; the command gets them as one argument, `step`."""


@command(epilog=HELP_END)
@click.argument("topic")
@click.option(
    "-n",
    "--partitions",
    type=click.IntRange(1, MAX_PARTITION),
    required=True,
    help="Partition count of the new topic: more, fewer or as many partitions as now.",
)
@click.option(
    "--profile",
    metavar="NAME",
    help="The profile whose rule places keys in the new topic; by default the one that placed most records.",
)
@click.option("--to", "target", metavar="TOPIC", help="Name of the new topic.  [default: TOPIC.pN]")
@click.option("--full", is_flag=True, help="Read every record for the plan instead of a sample.")
@click.option(
    "--copy-rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Rate of the copy in records a second, as --copy printed it; by default an assumed rate.",
)
@_step_options
@client_options("The cluster.")
@pace_options
@output_options("text", "json", "markdown", file=True)
@schema_option("copartition.reshape.report", "reshape_schema")
def reshape(
    topic: str,
    *,
    partitions: int,
    profile: str | None,
    target: str | None,
    full: bool,
    copy_rate: float | None,
    step: StepChoice,
    config: dict[str, str],
    pace: Pace,
    output: Output,
) -> int:
    """Give TOPIC another partition count, another rule for keys, or both, with each key's records in order.

    Without a step, the command only reads, and prints a plan. The plan shows who writes the topic and who
    reads it, which keys move, and what cannot be kept. It has two ways, by a new topic and in place, and
    shows for each of their steps what it stops and for how long. The options --copy, --switch, --prove and
    --back run the steps by a new topic; each can be stopped and run again.
    """
    if not config.get("bootstrap.servers"):
        raise click.UsageError("a topic is reshaped on a cluster; name it with -b HOST:PORT")
    from copartition.reshape.plan import plan_reshape, refused_plan  # noqa: PLC0415 - unused by --help
    from copartition.reshape.refusals import why_not_reshaped  # noqa: PLC0415 - likewise
    from copartition.reshape.report import plan_json, plan_markdown, print_plan  # noqa: PLC0415 - likewise
    from partitioning.kit.packages import needs  # noqa: PLC0415 - likewise
    from partitioning.placement import check_profile  # noqa: PLC0415 - likewise

    # The profile's name is checked before anything is read, so that a wrong name costs no time.
    if profile is not None:
        check_profile(profile)
    pace.check()
    target = target or f"{topic}.p{partitions}"
    if target == topic:
        raise click.UsageError(f"--to {target} is the topic itself; the copy needs a topic of its own")
    why = why_not_reshaped(topic)
    if step.mode is not None:
        if why is not None:
            raise click.ClickException(f"{topic} is not reshaped: {why}")
        # The plan may take the rule from the records. A step must not: with another sample it could take
        # another rule, and put later records of a key into another partition than the earlier ones.
        if profile is None:
            raise click.UsageError(f"--{step.mode} needs --profile NAME, the rule that the plan shows")
        return _Run(topic, target, partitions, profile, config, step, output).step()
    if why is not None:
        plan = refused_plan(topic, why)
    else:
        with needs("copartition reshape", "kafka"):
            from copartition.reshape.observing import observe_topic  # noqa: PLC0415 - needs confluent-kafka
        observed = observe_topic(topic, target, config, full=full)
        plan = plan_reshape(
            observed,
            target,
            partitions,
            profile=profile,
            copy_rate=copy_rate,
            pace=pace,
            servers=config["bootstrap.servers"],
        )
    output.show(
        partial(print_plan, plan), json=partial(plan_json, plan), markdown=partial(plan_markdown, plan)
    )
    return plan.exit_code


class _Run(NamedTuple):
    """One step of a reshape, and all that it needs.

    Attributes:
        topic: the old topic.
        target: the new topic.
        partitions: the partition count that the new topic must have.
        profile: the profile whose rule places keys in the new topic.
        config: librdkafka's settings.
        choice: the step.
        output: where its report goes.
    """

    topic: str
    target: str
    partitions: int
    profile: str
    config: Mapping[str, str]
    choice: StepChoice
    output: Output

    def step(self) -> int:
        """Run the step and return the exit code."""
        from copartition.groups.live.cluster import Cluster  # noqa: PLC0415 - unused by --help
        from partitioning.kit.packages import needs  # noqa: PLC0415 - likewise

        with needs("copartition reshape", "kafka"):
            from copartition.reshape.switching import check_target  # noqa: PLC0415 - needs confluent-kafka

        cluster = Cluster("reshape", self.config)
        if self.topic not in cluster.counts:
            raise click.ClickException(f"the cluster has no topic {self.topic} that this user may see")
        check_target(cluster, self.topic, self.target, self.partitions)
        steps = {"copy": self._copy, "switch": self._switch, "prove": self._prove, "back": self._back}
        assert self.choice.mode is not None
        # Every error of Spark becomes one line for the user, as every broker's error does.
        try:
            return steps[self.choice.mode](cluster)
        except Exception as error:
            # An error of Spark is recognised by the name of its class's module, because PySpark, which
            # defines the class, may not be installed. Only the first of its many lines is shown below.
            if not type(error).__module__.startswith("pyspark."):
                raise
            what = next(iter(str(error).splitlines()), "") or type(error).__name__
            raise click.ClickException(
                f"Spark gives up: {what}; run it again, it goes on where it was"
            ) from error

    def _spark(self) -> Any:
        """Return a Spark session: the one that Spark's own settings name, by default a local one."""
        from partitioning.kit.packages import needs  # noqa: PLC0415 - unused by --help

        with needs(f"copartition reshape --{self.choice.mode}", "spark"):
            from pyspark.sql import SparkSession  # noqa: PLC0415 - only Spark's steps need it
        # Spark's workers run this interpreter, which has the packages that they need, unless the user names
        # another.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        quiet = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
        }
        # No master is named here: spark-defaults.conf or SPARK_REMOTE names a cluster, else Spark is local.
        builder = SparkSession.builder.appName(f"copartition reshape {self.topic}")
        for name, value in quiet.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()

    def _copy_rounds(self, spark: Any, until_behind: int) -> Any:
        """Copy until few records are left, print a line on stderr for each round, and return the last round.

        Args:
            spark: the session.
            until_behind: the copy ends after a round during which the old topic got at most this many
                offsets.
        """
        # Spark's package is imported only in the steps that need it. So the tools can be installed without
        # Spark, and such a step then ends with a line that says that Spark is missing.
        from copartition.reshape.report_steps import round_sentence  # noqa: PLC0415 - unused by --help
        from spark_integration import reshape_copy  # noqa: PLC0415 - as said above

        begun, checkpoint = [time.monotonic()], self.choice.checkpoint or ""
        # Spark would take a path as relative to where its JVM was started, which may be another folder.
        if "://" not in checkpoint:
            checkpoint = os.path.abspath(checkpoint)  # noqa: PTH100 - --help loads no pathlib

        def tell(done: Any) -> None:
            now = time.monotonic()
            complain(round_sentence(done.number, done.copied, done.behind, now - begun[0]))
            begun[0] = now

        return reshape_copy(
            spark,
            self.topic,
            self.target,
            config=self.config,
            checkpoint=checkpoint,
            profile=self.profile,
            key=self._key(),
            until_behind=until_behind,
            on_round=tell,
        )

    def _key(self) -> Any:
        """Return the column of the new topic's key; None if the key stays."""
        from pyspark.sql.functions import expr  # noqa: PLC0415 - only Spark's steps need it

        return None if self.choice.key is None else expr(self.choice.key)

    def _copy(self, _cluster: Any) -> int:
        """Copy the old topic's records, round after round, until few enough are left; return exit code 0."""
        self._copy_rounds(self._spark(), self.choice.until_behind)
        return 0

    def _switch(self, cluster: Any) -> int:
        """Check that writers stand still, copy the rest, show the groups' positions, and write them if asked.

        Returns:
            0 if every group has its positions, also those written now; else 1.
        """
        from copartition.reshape import switching, ways  # noqa: PLC0415 - needs confluent-kafka
        from copartition.reshape.report_steps import print_switch, switch_json  # noqa: PLC0415 - unused by --help
        from copartition.reshape.switch import switch_exit_code, why_not_still  # noqa: PLC0415 - likewise

        # Each look covers the whole topic: a writer may be slow in one partition and quick in another.
        first = switching.look_at_ends(self.topic, self.config)
        time.sleep(ways.LOOK_S)
        second = switching.look_at_ends(self.topic, self.config)
        if (why := why_not_still(first, second)) is not None:
            complain(f"{why}; nothing was written")
            return 1
        spark = self._spark()
        self._copy_rounds(spark, 0)
        # Look once more: a writer that came back during the copy may have added records that were not copied.
        if (why := why_not_still(second, switching.look_at_ends(self.topic, self.config))) is not None:
            complain(f"{why}; nothing was written")
            return 1
        commits = switching.committed_groups(cluster, self.topic, self.choice.groups)
        if absent := sorted({*self.choice.groups} - commits.keys()):
            raise click.ClickException(
                f"group {absent[0]} has no commit for {self.topic}; let it commit first"
            )
        groups = self._group_switches(cluster, spark, second, commits)
        wanted = [group for group in groups if group.action == "write"] if self.choice.execute else []
        self.output.show(
            partial(print_switch, groups, self.target, [group.name for group in wanted]),
            json=partial(switch_json, groups, self.target, [group.name for group in wanted]),
        )
        # The positions are shown before the first of them is written, so that the user sees them even if a
        # write fails.
        for group in wanted:
            cluster.commit(group.name, self.target, group.positions)
        return switch_exit_code([group for group in groups if group not in wanted])

    def _group_switches(
        self, cluster: Any, spark: Any, ends: Any, commits: Mapping[str, Mapping[int, int]]
    ) -> list[Any]:
        """Return for each group its positions in the old topic, and those at which it goes on in the new one.

        Args:
            cluster: the cluster.
            spark: the session.
            ends: the old topic's ends, an `EndLook`.
            commits: group -> partition of the old topic -> committed offset.
        """
        from copartition.reshape.switching import group_switches  # noqa: PLC0415 - needs confluent-kafka
        from spark_integration import map_positions  # noqa: PLC0415 - see `_copy_rounds`

        positions = map_positions(spark, self.topic, self.target, config=self.config, commits=commits)
        return group_switches(cluster, self.target, ends, commits, positions)

    def _prove(self, cluster: Any) -> int:
        """Compare both topics key by key, and the positions of the groups that have moved.

        Returns:
            0 if the new topic holds what the old one holds, and each of these groups has the positions of a
            switch or has read on from there; else 1.
        """
        from copartition.reshape import switching  # noqa: PLC0415 - needs confluent-kafka
        from copartition.reshape.report_steps import print_proof, proof_json, proof_markdown  # noqa: PLC0415
        from spark_integration import prove  # noqa: PLC0415 - see `_copy_rounds`

        spark = self._spark()
        proof = prove(
            spark, self.topic, self.target, config=self.config, profile=self.profile, key=self._key()
        )
        # Only groups that have moved are checked, because the others have no positions in the new topic yet.
        moved = switching.committed_groups(cluster, self.target, self.choice.groups)
        commits = switching.committed_groups(cluster, self.topic, moved) if moved else {}
        ends = switching.look_at_ends(self.topic, self.config)
        groups = self._group_switches(cluster, spark, ends, commits)
        self.output.show(
            partial(print_proof, proof, groups, self.topic, self.target),
            json=partial(proof_json, proof, groups, self.topic, self.target),
            markdown=partial(proof_markdown, proof, groups, self.topic, self.target),
        )
        return int(not proof.holds or any(group.action == "other commits" for group in groups))

    def _back(self, cluster: Any) -> int:
        """Remove the commits that a switch has written, if asked; without that, show them.

        Returns:
            0; or 1 if a writer has moved to the new topic, so that nothing is removed.
        """
        from copartition.reshape import switching  # noqa: PLC0415 - needs confluent-kafka
        from copartition.reshape.report_steps import back_lines, moved_sentence  # noqa: PLC0415

        # The new topic is checked first: once a writer has put records into it, there is no way back to the
        # old one.
        if moved := switching.moved_writers(self.target, self.config):
            complain(moved_sentence(self.topic, self.target, moved))
            return 1
        commits = switching.committed_groups(cluster, self.target, self.choice.groups)
        if self.choice.execute:
            for name, offsets in commits.items():
                switching.remove_commits(cluster, name, self.target, offsets)
        self.output.write(
            "".join(
                f"{line}\n"
                for line in back_lines(
                    self.topic, self.target, commits, self.config, execute=self.choice.execute
                )
            )
        )
        return 0
