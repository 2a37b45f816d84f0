"""What a simulation is told: topics, consumers, settings, work, and what happens to them."""
