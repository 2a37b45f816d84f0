"""Find what is wrong with a consumer group, and say what to do.

- `examination` and `kind_examination` collect what the checks look at; `observing` says how a check answers.
- `member_checks` and `offset_checks` decide what is wrong with a consumer group. The bounds of what is
  healthy are `Limits` in `observing`.
- `share_checks` and `streams_checks` decide it for the two kinds of groups without owners. What all kinds
  have in common stands in `facts` and `kind_checks`.
- `checks.toml` has the advice for each check. `checks` runs them all, and decides the exit code.
- `report`, `overview` (all groups of a cluster) and `command` present the answer.
"""
