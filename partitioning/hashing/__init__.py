"""Hash functions of Kafka clients: one module each, a scalar and a columnar twin, NumPy only."""
