"""Tell whether topics can be joined partition by partition, and what must change if they cannot.

`verdict` has the answer and its reasons, `judge` finds them from audits of topics, `proof` compares keys,
`planned` and `writers` answer before anything is read. `cluster` reads topics; `report`, `page` and `command`
are for people.
"""
