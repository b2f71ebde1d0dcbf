"""Starts programs: one file for each way. A launcher is one pure method, `argv`, tested as text."""
