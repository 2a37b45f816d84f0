"""Reference vectors: exact answers to test brokers and clients of other languages against."""
