"""Findings on imported runs."""
