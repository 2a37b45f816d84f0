"""The main job on real data: every flight out of New York in 2013, to Kafka and back."""
