"""Readings over HTTP: the newest ones for a Prometheus that scrapes them, and an API of our own over the whole store.

`readings` asks the store, `metrics` and `own` are what can be asked for, `server` lets it be asked.
"""
