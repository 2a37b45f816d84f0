"""Decide whether a topic can get another partition count, rule or key with every key in order, and how.

- `observing` reads the facts from a cluster; `observed` holds them.
- `plan` decides whether it can be done, and by which steps. `refusals` has the topics that are never
  reshaped, and `ways` the two ways with their price.
- `switch` decides at the moment of the switch what is to be done with each group. `switching` asks the
  cluster for what that needs, and removes commits on the way back.
- `report`, `report_steps` and `command` present the answer. The copy itself is `spark_integration.reshaping`.
"""
