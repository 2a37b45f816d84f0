"""Assignments that are provably best: exact loads, fewest moves.

- `reading` turns a group into numbers, and `racks` finds which members are near which partitions.
- `levels` finds the best loads, `keeping` how many partitions each member keeps, and `deciding` the owner of
  each partition. All three are flows that `network` solves.
- `quality` compares any assignment with the best one. `assignor` has the strategies.
"""
