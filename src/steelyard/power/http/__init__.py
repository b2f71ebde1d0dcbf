"""Readings over HTTP: the newest ones for a Prometheus that scrapes them, and an API of our own over the whole store.

`readings` reads the store, `metrics` and `own` answer requests, and `server` accepts them.
"""
