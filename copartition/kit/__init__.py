"""Hold what several packages of the tools share; they import from here, never the other way round.

- `words` turns values into words for people. `grid` prints tables in a terminal, `page` makes HTML pages,
  `markdown` writes Markdown, and `json` writes JSON. `places` gives partitions the two levels that JSON
  needs.
- `evidence` defines the ground of an answer, and `number_checks` compares a report with limits of `--check`.
- `admin` asks a cluster, and `child` runs `admin` in a process that may die.
"""
