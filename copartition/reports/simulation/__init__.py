"""Simulated runs: as a model, and as text, JSON and a page."""
