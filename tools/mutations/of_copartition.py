"""Mistakes in `copartition`: path, text, what replaces it, and the tests that have to notice."""

DIFF = "tests/copartition/assignment_diff"
STOPS = "tests/copartition/deploys/test_stops.py"
DOCTOR = "tests/copartition/doctor/test_checks.py"
TRANSACTIONS = "tests/copartition/transactions/test_looks.py"
CAPTURE = "tests/copartition/groups/capture"
REPORTS = "tests/copartition/assignment_diff/report"
COMMAND = "tests/copartition/assignment_diff/test_command.py"
WATCHING = "tests/copartition/watch"
CHECK = "tests/copartition/check"
JUDGING = f"{CHECK}/test_judge.py"
PROOF = f"{CHECK}/test_proof.py"
SETTINGS = f"{CHECK}/test_by_settings.py"
PLANNING = f"{CHECK}/test_planned.py"
CHECK_CODE = "copartition/check"

ROWS = [
    # Diffs, simulations, reports and commands.
    (
        "copartition/assignment_diff/compare.py",
        "            absent[0],\n            absent[1],\n            source == target,",
        "            source == target,\n            absent[0],\n            absent[1],",
        DIFF,
    ),
    ("copartition/assignment_diff/changes.py", "score[row] >= RENAME_PCT", "score[row] > RENAME_PCT", DIFF),
    (
        "copartition/assignment_diff/changes.py",
        '"member-id": "id", "host": "host"}',
        '"host": "host", "member-id": "id"}',
        "tests/copartition/assignment_diff/test_matching.py",
    ),
    (
        "copartition/assignment_diff/compare.py",
        "return not (came_or_went or self.matching.renames or",
        "return not (came_or_went or",
        "tests/copartition/assignment_diff/test_matching.py",
    ),
    (
        "copartition/assignment_diff/needed.py",
        "min(loads, default=0) if all_known else 0",
        "min(loads, default=0)",
        "tests/copartition/assignment_diff/test_needed.py",
    ),
    (
        "copartition/assignment_diff/needed.py",
        "held = here & (rows.source >= 0)",
        "held = rows.source >= 0",
        "tests/copartition/assignment_diff/test_needed.py",
    ),
    ("copartition/deploys/stops.py", "if not _new_lists(scenario):", "if True:", STOPS),
    ("copartition/deploys/stops.py", "opens[~is_new], closes[~is_new], int", "opens, closes, int", STOPS),
    ("copartition/deploys/stops.py", "max(all_stopped, rebalances)", "rebalances", STOPS),
    (
        "copartition/migrate/migration.py",
        "dict.fromkeys((*new, *old))",
        "dict.fromkeys((*old, *new))",
        "tests/copartition/migrate/test_migration.py",
    ),
    (
        "copartition/simulation/group/clients.py",
        "refreshes_as_it_assigns=True,\n        mixes_protocols=False,",
        "refreshes_as_it_assigns=True,",
        "tests/copartition/migrate/test_migration.py",
    ),
    ("copartition/kit/words.py", '"<=": operator.le', '"<=": operator.lt', f"{DIFF} {COMMAND}"),
    (
        "copartition/simulation/outcome/history.py",
        "(last >= 0) &",
        "",
        "tests/copartition/simulation/group",
    ),
    (
        "copartition/simulation/group/classic_group.py",
        "if consumer.static:  # the static member stays",
        "if False:  # the static member stays",
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
        "copartition/simulation/group/classic_group.py",
        "if cause != self.cause:",
        "if True:",
        "tests/copartition/simulation/group/test_coordinator.py",
    ),
    (
        "copartition/simulation/agenda.py",
        "event.consumer in {name, ANYONE}",
        "event.consumer in {event.consumer, ANYONE}",
        "tests/copartition/simulation/group/test_clients.py",
    ),
    (
        "copartition/simulation/records/readers.py",
        "return self._waiting[slots] + came",
        "return came",
        "tests/copartition/simulation/records/test_flow.py",
    ),
    (
        "copartition/deploys/scenario.py",
        "until = steps[last + 1].since if last + 1 < len(steps) else steps[last].at",
        "until = steps[-1].at",
        "tests/copartition/deploys/test_scenario.py",
    ),
    (
        "copartition/simulation/group/client.py",
        "self._plans.at(self._world.now_ms, self.join)",
        "self.join()",
        "tests/copartition/simulation/group/test_clients.py",
    ),
    (
        "copartition/simulation/partition_states.py",
        "self._since[partitions] < at_ms, at_ms, self",
        "self._since[partitions] <= at_ms, at_ms, self",
        "tests/copartition/simulation/group/test_clients.py",
    ),
    (
        "copartition/simulation/group/leader.py",
        "members.staying(before, owner, now_ms)",
        "[]",
        "tests/copartition/simulation/group/test_clients.py",
    ),
    (
        "copartition/simulation/group/world.py",
        "max(min(slow_ms, until_ms + normal_ms - at_ms), normal_ms)",
        "slow_ms if at_ms < until_ms else normal_ms",
        "tests/copartition/simulation/group/test_slow_network.py",
    ),
    (
        "copartition/simulation/ledger.py",
        "self._write(TransitionKind.STOP, moved, at_ms, Phase.PAUSED, cause)",
        "pass",
        "tests/copartition/simulation/group/test_coordinator.py",
    ),
    (
        "copartition/simulation/partition_states.py",
        "if kind is TransitionKind.LOSE and self._flow is not None:",
        "if False:",
        "tests/copartition/simulation/test_ledger.py",
    ),
    (
        "copartition/simulation/partition_states.py",
        "turns[these] = turn[rows]",
        "turns[these] = 0",
        "tests/copartition/simulation/test_ledger.py",
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
    ("copartition/kit/page.py", "autoescape=True", "autoescape=False", "tests/copartition/test_html.py"),
    ("copartition/kit/markdown.py", "    text = visible(text)\n", "", "tests/copartition/test_visible.py"),
    (
        "copartition/assignment_diff/command.py",
        "bool(failed) if limits else _found_something(change)",
        "bool(failed) or _found_something(change)",
        COMMAND,
    ),
    (
        "copartition/groups/live/members.py",
        "if len(leaders) == 1 else None",
        "if leaders else None",
        "tests/copartition/groups/test_client_bytes.py",
    ),
    (
        "copartition/groups/live/members.py",
        'return None if user_data else "kafka-python" if version == 1 else _OURS',
        'return None if user_data else "kafka-python"',
        "tests/copartition/groups/test_client_bytes.py",
    ),
    (
        "copartition/groups/planned_members.py",
        '"sticky" if strategy.startswith("aiokafka-") else name_in_group(strategy)',
        "name_in_group(strategy)",
        "tests/copartition/groups/test_new_ids.py",
    ),
    (
        "copartition/assignment_diff/compare.py",
        "len(np.unique(owners)) > 1 and",
        "len(owners) > 1 and",
        "tests/copartition/assignment_diff/test_topic_spread.py",
    ),
    (
        "copartition/assignment_diff/command.py",
        "if strict and change.assumed:",
        "if strict and change.warnings:",
        COMMAND,
    ),
    ("copartition/assignment_diff/report/model.py", "np.argsort(-sizes", "np.argsort(sizes", REPORTS),
    ("copartition/shell/commands.py", "COULD_NOT = 2", "COULD_NOT = 1", COMMAND),
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
        "if not cell and len(self.lines[row]) < self.columns[name]:",
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
        "np.where(lag == -1, UNKNOWN_LAG, lag) if self.rpk else lag",
        "np.where(lag == -1, UNKNOWN_LAG, lag)",
        CAPTURE,
    ),
    # What is not seen is not called fine.
    ("copartition/doctor/facts.py", "if not above:", "if False:", DOCTOR),
    ("copartition/doctor/offset_checks.py", "if not growing:", "if False:", DOCTOR),
    ("copartition/doctor/offset_checks.py", "if not still:", "if False:", DOCTOR),
    (
        "copartition/doctor/offset_checks.py",
        "if not (group.state.complete and group.owned):",
        "if not group.owned:",
        DOCTOR,
    ),
    (
        "copartition/doctor/member_checks.py",
        "if is_even(balance) and not (group.state.members_complete or group.state.unlisted):",
        "if False:",
        DOCTOR,
    ),
    ("copartition/doctor/offset_checks.py", "if not left:", "if False:", DOCTOR),
    (
        "copartition/assignment_diff/needed.py",
        "return bool(balance.loads) and balance.loads == balance.best_loads",
        "return bool(balance.loads) and balance.loads[0] == balance.best_loads[0]",
        DOCTOR,
    ),
    (
        "copartition/transactions/judging.py",
        "return 1 if self.findings else 2 if self.missing else 0",
        "return 1 if self.findings else 0",
        TRANSACTIONS,
    ),
    (
        "copartition/transactions/judging.py",
        "hanging = age_ms > MOST_TIMEOUT_MS and not look.missing_ids",
        "hanging = age_ms > MOST_TIMEOUT_MS",
        TRANSACTIONS,
    ),
    (
        "copartition/why/cures.py",
        "revived = cause is Cause.EXPIRED and any(not seconds.closed for seconds in back)",
        "revived = False",
        "tests/copartition/why/test_command.py",
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
        "members_complete = held.members_complete or about.members == members",
        "members_complete = held.members_complete",
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
    # Can topics be joined?
    # A verdict must not be "yes" too easily.
    (f"{CHECK_CODE}/judge.py", "everywhere >= ENOUGH_COMMON", "everywhere > 0", JUDGING),
    (f"{CHECK_CODE}/judge.py", "else proof.everywhere or 0", "else proof.common", JUDGING),
    (f"{CHECK_CODE}/judge.py", "if topic.old_counts:", "if False:", JUDGING),
    (f"{CHECK_CODE}/judge.py", "    if topic.missed:", "    if False:", JUDGING),
    (f"{CHECK_CODE}/judge.py", "if not topic.full:", "if False:", JUDGING),
    (f"{CHECK_CODE}/judge.py", "if apart and not convinced:", "if not convinced:", JUDGING),
    (f"{CHECK_CODE}/verdict.py", "return self.today | {", "return self.today or {", JUDGING),
    (
        "partitioning/profiles.py",
        "num_partitions & (num_partitions - 1) == 0",
        "num_partitions % 2 == 0",
        JUDGING,
    ),
    (
        f"{CHECK_CODE}/judge.py",
        '"against": [tuple(filter(_is_sure, audit.forms))',
        '"against": [audit.forms',
        JUDGING,
    ),
    # No key may be lost, or be compared with one that the other topic has left out.
    (f"{CHECK_CODE}/proof.py", "np.minimum(self.low[old], more.low[present])", "self.low[old]", PROOF),
    (f"{CHECK_CODE}/proof.py", "np.maximum(self.high[old], more.high[present])", "self.high[old]", PROOF),
    (
        f"{CHECK_CODE}/proof.py",
        'order = order[: np.searchsorted(hashes, self.ceiling, side="right")]',
        "pass",
        PROOF,
    ),
    (f"{CHECK_CODE}/proof.py", "wanted &= ~keys.nulls", "pass", PROOF),
    (f"{CHECK_CODE}/proof.py", "(self.topics > 1) & (lowest", "(lowest", PROOF),
    (f"{CHECK_CODE}/proof.py", "new & (topics > 1)", "topics > 1", PROOF),
    # Settings and plans.
    (f"{CHECK_CODE}/writers.py", 'value.rpartition(".")[2]', "value", SETTINGS),
    (f"{CHECK_CODE}/planned.py", '"against" if count != 1 else "for"', '"for"', SETTINGS),
    (
        f"{CHECK_CODE}/planned.py",
        'return "moves" if before != after else "untouched"',
        'return "untouched"',
        PLANNING,
    ),
    (
        f"{CHECK_CODE}/planned.py",
        "for needed in [max(after[topic] for topic in group)]",
        "for needed in [max(plan.values())]",
        PLANNING,
    ),
]
