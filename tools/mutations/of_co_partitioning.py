"""Mistakes in `copartition.check`: path, text, what replaces it, and the tests that notice."""

TESTS = "tests/copartition/check"
JUDGING = f"{TESTS}/test_judge.py"
PROOF = f"{TESTS}/test_proof.py"
SETTINGS = f"{TESTS}/test_by_settings.py"
PLANNING = f"{TESTS}/test_planned.py"
HERE = "copartition/check"

ROWS = [
    # A verdict must not be "yes" too easily.
    (f"{HERE}/judge.py", "everywhere >= ENOUGH_COMMON", "everywhere > 0", JUDGING),
    (f"{HERE}/judge.py", "else proof.everywhere or 0", "else proof.common", JUDGING),
    (f"{HERE}/judge.py", "if topic.old_counts:", "if False:", JUDGING),
    (f"{HERE}/judge.py", "    if topic.missed:", "    if False:", JUDGING),
    (f"{HERE}/judge.py", "if not topic.full:", "if False:", JUDGING),
    (f"{HERE}/judge.py", "if apart and not convinced:", "if not convinced:", JUDGING),
    (f"{HERE}/verdict.py", "return self.today | {", "return self.today or {", JUDGING),
    (
        "copartition/audit/search.py",
        "num_partitions & (num_partitions - 1) == 0",
        "num_partitions % 2 == 0",
        JUDGING,
    ),
    (
        f"{HERE}/judge.py",
        '"against": [tuple(filter(_is_sure, audit.forms))',
        '"against": [audit.forms',
        JUDGING,
    ),
    # No key may be lost, or be compared with one that the other topic has left out.
    (f"{HERE}/proof.py", "np.minimum(self.low[old], more.low[present])", "self.low[old]", PROOF),
    (f"{HERE}/proof.py", "np.maximum(self.high[old], more.high[present])", "self.high[old]", PROOF),
    (
        f"{HERE}/proof.py",
        'order = order[: np.searchsorted(hashes, self.ceiling, side="right")]',
        "pass",
        PROOF,
    ),
    (f"{HERE}/proof.py", "wanted &= ~keys.nulls", "pass", PROOF),
    (f"{HERE}/proof.py", "(self.topics > 1) & (lowest", "(lowest", PROOF),
    (f"{HERE}/proof.py", "new & (topics > 1)", "topics > 1", PROOF),
    # Settings and plans.
    (f"{HERE}/writers.py", 'value.rpartition(".")[2]', "value", SETTINGS),
    (f"{HERE}/planned.py", '"against" if count != 1 else "for"', '"for"', SETTINGS),
    (
        f"{HERE}/planned.py",
        'return "moves" if before != after else "untouched"',
        'return "untouched"',
        PLANNING,
    ),
    (
        f"{HERE}/planned.py",
        "for needed in [max(after[topic] for topic in group)]",
        "for needed in [max(plan.values())]",
        PLANNING,
    ),
]
