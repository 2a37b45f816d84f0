"""Decide whether topics can be joined partition by partition, and what must change if they cannot.

`verdict` defines the answer and its reasons, `judge` finds them from audits of topics, and `proof` compares
keys. `planned` and `writers` give an answer without reading records, from settings of clients and planned
partition counts. `cluster` reads topics; `report` and `command` present the answer.
"""
