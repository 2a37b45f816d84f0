"""Write a DataFrame to Kafka with nothing but pip packages.

`source` implements Spark's interface. Before a write the driver reads the options (`options`) and asks the
cluster for partition counts (`cluster`). A task turns rows into records (`records`), checks that each row's
partition is that of its key (`placement`), and delivers the records (`delivery`) or writes them in
transactions (`exactly_once`). `process_store` keeps clients from one task to the next. `connector` checks
rows for Spark's own Kafka sink.
"""
