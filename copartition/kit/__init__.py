"""Hold what several rooms of the tools share; the rooms import from here, never the other way round.

- `words` turns values into words for people, and `grid` tables into lines of a terminal. `page` makes HTML
  pages, `markdown` and `json` what their names say; `places` gives partitions the two levels that JSON needs.
- `evidence` is the ground of an answer, and `number_checks` holds limits of `--check` against a report.
- `admin` asks a cluster, and `child` does so in a process that may die.
"""
