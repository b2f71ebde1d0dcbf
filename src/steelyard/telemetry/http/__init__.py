"""Readings over HTTP: an API of our own, and Prometheus' form of query over the same store.

`series` says what a sensor is called, `language` reads PromQL, `readings` asks the store, `windows` and `evaluation` compute,
`prometheus` and `own` are what can be asked for, `server` lets it be asked.
"""
