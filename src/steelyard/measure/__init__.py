"""Measures a machine: describes it, plans cases, builds and starts programs, reads sensors, and writes records."""
