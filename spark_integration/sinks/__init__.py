"""Writing a DataFrame to Kafka with nothing but pip packages.

`source` is Spark's interface around it. Before a write the driver asks the cluster for partition counts
(`cluster`) and reads the options (`options`). A task turns rows into records (`records`), checks where they
lie (`placement`) and has them delivered (`delivery`), or writes them in transactions (`exactly_once`).
`connector` is for Spark's own Kafka sink.
"""
