"""Mistakes in `assignors`: path, text, what replaces it, and the tests that have to notice."""

GOLDEN = "tests/assignors/test_golden.py"
ODD_RULES = "tests/assignors/rules/test_rules_of_odd_groups.py"
CLASSIC_STICKY = "tests/assignors/rules/test_streams_classic_sticky.py"
STREAMS = "tests/assignors/rules/test_streams_high_availability.py"
STREAMS_RACKS = "tests/assignors/rules/test_streams_racks.py"
DIFF = "tests/copartition/diff"
STOPS = "tests/copartition/diff/test_stops.py"
CAPTURE = "tests/copartition/groups/capture"
REPORTS = "tests/copartition/reports"
COMMAND = "tests/copartition/cli/test_diff_command.py"
WATCHING = "tests/copartition/watch"
OPTIMAL = "tests/assignors/optimal"

ROWS = [
    # Groups.
    (
        "assignors/group.py",
        "check_numbers(member.owned, member.id)",
        "pass",
        "tests/assignors/test_group.py",
    ),
    (
        "partitioning/topic_partition.py",
        " and not isinstance(value, bool)",
        "",
        "tests/assignors/test_group.py",
    ),
    # Assignors as rules.
    (
        "assignors/rules/range.py",
        "extra = self.remaining_consumers_with_extra_partition > 0",
        "extra = self.remaining_consumers_with_extra_partition >= 0",
        GOLDEN,
    ),
    (
        "assignors/rules/range.py",
        "        for partitions in ranges.assignment.values():\n            partitions.sort(",
        "        for partitions in [[]]:\n            partitions.sort(",
        GOLDEN,
    ),
    ("assignors/rules/round_robin.py", "turn = place + 1", "turn = place", GOLDEN),
    (
        "assignors/rules/sticky.py",
        "if generation < other_generation:",
        "if generation <= other_generation:",
        f"{GOLDEN} {ODD_RULES}",
    ),
    (
        "assignors/rules/sticky.py",
        "generation > previous[partition][1]",
        "generation >= previous[partition][1]",
        f"{GOLDEN} {ODD_RULES}",
    ),
    (
        "assignors/rules/sticky.py",
        "if owned < self._min_quota:",
        "if owned <= self._min_quota:",
        GOLDEN,
    ),
    (
        "assignors/rules/sticky.py",
        "        self._unfilled_under_min_quota.sort(key=utf16_key)\n",
        "",
        GOLDEN,
    ),
    (
        "assignors/rules/uniform.py",
        "remaining_members > self.remaining",
        "remaining_members >= self.remaining",
        GOLDEN,
    ),
    (
        "assignors/rules/cooperative_sticky.py",
        "if partition in all_revoked_partitions",
        "if partition not in all_revoked_partitions",
        GOLDEN,
    ),
    (
        "assignors/rules/streams_classic_sticky.py",
        "len(each.active) < each.threads * per_thread",
        "len(each.active) <= each.threads * per_thread",
        CLASSIC_STICKY,
    ),
    (
        "assignors/rules/streams_classic_sticky.py",
        "if load < 1 or min(self._loads) == load:",
        "if load < 1:",
        CLASSIC_STICKY,
    ),
    (
        "assignors/rules/streams_classic_sticky.py",
        "not load_of(best) or self._is_new_pair(task, best)",
        "self._is_new_pair(task, best)",
        CLASSIC_STICKY,
    ),
    (
        "assignors/rules/streams_classic_sticky.py",
        "if offset == RUNNING or task in each.owned:",
        "if offset == RUNNING:",
        CLASSIC_STICKY,
    ),
    (
        "assignors/rules/streams_application.py",
        "for name in hash_map_keys(list(by_id))",
        "for name in by_id",
        STREAMS,
    ),
    (
        "assignors/rules/streams_racks.py",
        "if self._default_costs is None and None in costs:",
        "if self._default_costs is None and costs[0] is None:",
        STREAMS_RACKS,
    ),
    (
        "assignors/rules/streams_classic_sticky.py",
        "(*each.source_topics, *each.changelog_topics)",
        "each.source_topics",
        STREAMS_RACKS,
    ),
    (
        "assignors/rules/streams_high_availability.py",
        " and (changelogs is not None or not group.standby_replicas)",
        "",
        STREAMS_RACKS,
    ),
    (
        "assignors/rules/streams_racks.py",
        "previous[heads[rows]] = tails[rows]",
        "previous[heads[rows[::-1]]] = tails[rows[::-1]]",
        STREAMS,
    ),
    (
        "assignors/rules/streams_racks.py",
        "for _ in range(self._sink + 1):",
        "for _ in range(self._sink):",
        STREAMS,
    ),
    (
        "assignors/rules/streams_racks.py",
        "            if tasks < room:",
        "            if tasks <= room:",
        STREAMS_RACKS,
    ),
    (
        "assignors/rules/streams_racks.py",
        "cost[np.arange(len(tasks)), before] -= elsewhere",
        "cost[np.arange(len(tasks)), before] -= 0",
        STREAMS_RACKS,
    ),
    # Assignors as columns, and the gate.
    (
        "assignors/weighted/measured.py",
        "max(rate, greatest.get(partition, rate))",
        "rate",
        "tests/assignors/weighted/test_measured.py",
    ),
    (
        "assignors/columnar/uniform_structures.py",
        "numbers[rows] = in_set",
        "numbers[rows] = slots.partition[rows]",
        "tests/assignors/test_golden.py",
    ),
    (
        "assignors/columnar/uniform.py",
        "HashSet(numbers) if topic in crowded else numbers",
        "numbers",
        "tests/assignors/test_golden.py",
    ),
    (
        "assignors/columnar/range.py",
        "np.arange(len(members)) < extra",
        "np.arange(len(members)) <= extra",
        GOLDEN,
    ),
    ("assignors/columnar/round_robin.py", "% len(numbers)] + 1", "% len(numbers)]", GOLDEN),
    (
        "assignors/columnar/sticky_structures.py",
        "    if np.bincount(ids, minlength=1).max() > 1:\n        raise OddGroup\n",
        "",
        GOLDEN,
    ),
    (
        "assignors/columnar/sticky_structures.py",
        "(number.view(np.uint32) >= numbering",
        "(number.view(np.uint32) > numbering",
        GOLDEN,
    ),
    (
        "assignors/columnar/uniform_structures.py",
        "if np.count_nonzero(assigned) < len(listed):",
        "if np.count_nonzero(assigned) > len(listed):",
        ODD_RULES,
    ),
    (
        "assignors/protocol.py",
        "    topics = sorted(subscription.topics, key=utf16_key)\n",
        "    topics = list(subscription.topics)\n",
        "tests/assignors/test_golden_bytes.py tests/assignors/test_protocol.py",
    ),
    (
        "assignors/wire.py",
        "if not 0 <= length <= self.left:",
        "if not length <= self.left:",
        "tests/assignors/test_protocol.py",
    ),
    # Diffs, simulations, reports and commands.
    (
        "copartition/diff/compare.py",
        "            absent[0],\n            absent[1],\n            source == target,",
        "            source == target,\n            absent[0],\n            absent[1],",
        DIFF,
    ),
    ("copartition/diff/changes.py", "score[row] >= RENAME_PCT", "score[row] > RENAME_PCT", DIFF),
    (
        "copartition/diff/changes.py",
        '"member-id": "id", "host": "host"}',
        '"host": "host", "member-id": "id"}',
        "tests/copartition/diff/test_matching.py",
    ),
    (
        "copartition/diff/compare.py",
        "return not (came_or_went or self.matching.renames or",
        "return not (came_or_went or",
        "tests/copartition/diff/test_matching.py",
    ),
    (
        "copartition/diff/needed.py",
        "min(loads, default=0) if all_known else 0",
        "min(loads, default=0)",
        "tests/copartition/diff/test_needed.py",
    ),
    (
        "copartition/diff/needed.py",
        "held = here & (rows.source >= 0)",
        "held = rows.source >= 0",
        "tests/copartition/diff/test_needed.py",
    ),
    ("copartition/diff/stops.py", "event.members - grows", "event.members", STOPS),
    ("copartition/diff/stops.py", "again_ms *= others > 0", "again_ms *= 1", STOPS),
    ("copartition/diff/stops.py", "tuple(0.0 if lost_rows else", "tuple(5e3 if lost_rows else", STOPS),
    ("copartition/diff/stops.py", "won if left.any() else handed", "handed", STOPS),
    (
        "copartition/simulation/timing.py",
        "missed_ms], axis=1).max",
        "], axis=1).max",
        "tests/copartition/simulation/group/test_heartbeats.py",
    ),
    (
        "copartition/migration.py",
        "both = (*new, *old)",
        "both = (*old, *new)",
        "tests/copartition/test_migration.py",
    ),
    (
        "copartition/simulation/group/clients.py",
        "recheck_ms=100, mixes_protocols=False",
        "recheck_ms=100",
        "tests/copartition/test_migration.py",
    ),
    ("copartition/words.py", '"<=": operator.le', '"<=": operator.lt', f"{DIFF} {COMMAND}"),
    (
        "copartition/simulation/group/partitions.py",
        "(last >= 0) &",
        "",
        "tests/copartition/simulation/group",
    ),
    (
        "copartition/simulation/group/classic_group.py",
        "if not consumer.static:  # a static",
        "if True:  # a static",
        "tests/copartition/simulation/group/test_coordinator.py",
    ),
    (
        "copartition/simulation/group/members.py",
        "return max(beat_ms, last_until(",
        "return min(beat_ms, last_until(",
        "tests/copartition/simulation/group/test_heartbeats.py",
    ),
    (
        "copartition/simulation/group/leader.py",
        "deepcopy(before.assignor) if self._shared else",
        "",
        "tests/copartition/simulation/test_ends.py",
    ),
    (
        "copartition/simulation/outcome/phases.py",
        "self._since[partitions] < at_ms, at_ms, self",
        "self._since[partitions] <= at_ms, at_ms, self",
        "tests/copartition/simulation/group/test_clients.py",
    ),
    (
        "copartition/simulation/outcome/phases.py",
        "turns[each.partitions] = each.turn",
        "turns[each.partitions] = 0",
        "tests/copartition/simulation/outcome/test_merging.py",
    ),
    (
        "copartition/simulation/agenda.py",
        "rank = math.inf if last else number",
        "rank = number",
        "tests/copartition/simulation/test_agenda.py",
    ),
    (
        "copartition/simulation/inputs/kinds.py",
        "if isinstance(value, bool) or not",
        "if not",
        "tests/copartition/simulation/inputs",
    ),
    ("copartition/reports/page.py", "autoescape=True", "autoescape=False", REPORTS),
    ("copartition/reports/markdown.py", "    text = visible(text)\n", "", REPORTS),
    (
        "copartition/cli/diff.py",
        "bool(failed) if limits else _found_something(change)",
        "bool(failed) or _found_something(change)",
        COMMAND,
    ),
    (
        "copartition/groups/capture/scan.py",
        "if lines[-1] or len(lines) > _MOST_LINES:",
        "if len(lines) > _MOST_LINES:",
        "tests/copartition/groups/capture",
    ),
    (
        "copartition/groups/live/members.py",
        "if len(leaders) == 1 else None",
        "if leaders else None",
        "tests/copartition/groups/test_client_bytes.py",
    ),
    (
        "copartition/diff/compare.py",
        "len(np.unique(owners)) > 1 and",
        "len(owners) > 1 and",
        "tests/copartition/diff/test_topic_spread.py",
    ),
    ("copartition/cli/diff.py", "if strict and change.assumed:", "if strict and change.warnings:", COMMAND),
    ("copartition/reports/diff/model.py", "np.argsort(-sizes", "np.argsort(sizes", REPORTS),
    ("copartition/cli/shell.py", "COULD_NOT = 2", "COULD_NOT = 1", COMMAND),
    (
        "copartition/watch/changes.py",
        "self._shown_until = step.since",
        "self._shown_until = step.at",
        WATCHING,
    ),
    (
        "copartition/watch/changes.py",
        "max(step.since - self.first, 0)",
        "step.at - self.first",
        WATCHING,
    ),
    (
        "copartition/watch/changes.py",
        "latest, since = reading, asked_s",
        "latest, since = reading, self.ended",
        WATCHING,
    ),
    # What tools print of a group, and what they do not.
    (
        "copartition/groups/capture/table.py",
        "if not cell and len(self.lines[row]) < start:",
        "if False:",
        CAPTURE,
    ),
    (
        "copartition/groups/capture/table.py",
        'runs_over = len(cell) == width and cell[-1] != " "',
        "runs_over = False",
        CAPTURE,
    ),
    (
        "copartition/groups/capture/table.py",
        "np.where(lag < 0, UNKNOWN_LAG, lag) if self.rpk else lag",
        "np.where(lag < 0, UNKNOWN_LAG, lag)",
        CAPTURE,
    ),
    (
        "copartition/groups/capture/group.py",
        'hostless = np.flatnonzero(columns["HOST"].codes[first] < 0)',
        'hostless = np.flatnonzero(columns["HOST"].codes[first] < -1)',
        CAPTURE,
    ),
    (
        "copartition/groups/capture/group.py",
        "if len(table.lines[row]) < table.width if padded else not whole.get(last):",
        "if not padded and not whole.get(last):",
        CAPTURE,
    ),
    ("copartition/groups/capture/group.py", "if code != row:", "if False:", CAPTURE),
    (
        "copartition/groups/capture/group.py",
        "members_complete = roster is not None or about.members == members",
        "members_complete = roster is not None",
        CAPTURE,
    ),
    (
        "copartition/groups/capture/group.py",
        "None if table.unfinished or members < 0 else members",
        "None if members < 0 else members",
        CAPTURE,
    ),
    (
        "copartition/groups/capture/group.py",
        "wrong[sides[0][(sides[0] != sides[1]).any(axis=1), 0]] = True",
        "pass",
        CAPTURE,
    ),
    (
        "copartition/groups/capture/group.py",
        "np.flatnonzero(~np.isin(current_rows, wanted)) if described",
        "np.flatnonzero(np.isin(current_rows, wanted)) if described",
        CAPTURE,
    ),
    (
        "copartition/groups/capture/scan.py",
        "if self._in_summary or (table is not None and table.header == line):",
        "if table is not None and table.header == line:",
        CAPTURE,
    ),
    # The best loads, the fewest moves, the most even spread.
    (
        "assignors/optimal/levels.py",
        "(mean[of_kind] - 1) * readers.members",
        "mean[of_kind] * readers.members",
        OPTIMAL,
    ),
    (
        "assignors/optimal/levels.py",
        "~np.where(whole[of_topic], fits, low)",
        "~low",
        OPTIMAL,
    ),
    (
        "assignors/optimal/deciding.py",
        "np.where(held & newcomer[fresh], fresh, -1)",
        "np.full(len(rows), -1)",
        OPTIMAL,
    ),
    (
        "assignors/optimal/keeping.py",
        "(counted - self._low)[with_node]",
        "0",
        OPTIMAL,
    ),
    (
        "assignors/optimal/network.py",
        "dearer.add(rows, cost, so_far)",
        "dearer.add(rows, cost, 0)",
        OPTIMAL,
    ),
    (
        "assignors/optimal/network.py",
        "sum(map(len, layers)) < _THIN * len(layers)",
        "True",
        OPTIMAL,
    ),
    (
        "assignors/optimal/deciding.py",
        "np.where(held[one], move, 1)",
        "np.where(held[one], 1, 1)",
        OPTIMAL,
    ),
    (
        "assignors/optimal/deciding.py",
        "np.where(has >= self._high, 0,",
        "np.where(has >= self._high, 2,",
        OPTIMAL,
    ),
    (
        "assignors/optimal/deciding.py",
        "np.where(heir == holder[doubt], 0, 1 + np.append(short, False)[heir])",
        "np.zeros(len(heir), np.intp)",
        OPTIMAL,
    ),
    (
        "assignors/optimal/reading.py",
        "counts = generation == latest[partition]",
        "counts = generation >= 0",
        OPTIMAL,
    ),
    (
        "assignors/optimal/reading.py",
        "times[client] == 1",
        "False",
        OPTIMAL,
    ),
    (
        "assignors/optimal/assignor.py",
        "lost[owner[lost] != reading.rightful[lost]]",
        "lost",
        OPTIMAL,
    ),
    (
        "assignors/optimal/deciding.py",
        "even * (2 * number - 1)",
        "even * (0 * number)",
        OPTIMAL,
    ),
    (
        "assignors/optimal/deciding.py",
        "even = move * (longest + 1)",
        "even = move",
        OPTIMAL,
    ),
    (
        "assignors/optimal/deciding.py",
        "            and not self._spread_first\n",
        "",
        OPTIMAL,
    ),
    (
        "assignors/optimal/deciding.py",
        "window *= 4",
        "return given",
        OPTIMAL,
    ),
    (
        "assignors/optimal/keeping.py",
        "np.maximum(held, low).sum()",
        "held.sum()",
        OPTIMAL,
    ),
    (
        "assignors/optimal/quality.py",
        "owner != reading.holder",
        "owner == reading.holder",
        OPTIMAL,
    ),
]
