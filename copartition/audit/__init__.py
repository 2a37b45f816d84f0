"""Who wrote this topic: whose rule, over how many partitions, explains where its records are."""
