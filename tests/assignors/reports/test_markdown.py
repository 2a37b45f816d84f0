"""Reports for pull requests."""

from assignors.reports.markdown import diff_markdown


def test_the_verdict_comes_first_and_the_long_part_is_folded(grown):
    lines = diff_markdown(grown).splitlines()
    assert lines[0].startswith("**30 moved, 90 kept, 0 unassigned.")
    assert "<details><summary>Flows</summary>" in lines
    assert "| worker-0 | worker-6 | 5 | orders:15-19 |" in lines


def test_tables_have_as_many_cells_as_their_header(odd):
    rows = [line for line in diff_markdown(odd).splitlines() if line.startswith("|")]
    cells = [row.replace("\\|", "").count("|") for row in rows]
    assert set(cells) == {6, 5}


def test_reasons_part_the_flows_when_asked_for(planned):
    lines = diff_markdown(planned, reasons=True).splitlines()
    assert "| from | to | because | partitions | which |" in lines
    assert "| a | new-0 | over quota | 2 | orders:4-5 |" in lines


def test_names_are_not_markup(odd):
    text = diff_markdown(odd)
    assert "<b>" not in text
    assert "&lt;b>\\|\\*" in text


def test_no_difference_has_no_tables(unchanged):
    assert "|" not in diff_markdown(unchanged)
