"""The newest readings over HTTP, for a Prometheus that scrapes them.

`metrics` writes them, `door` is the address with its certificate and token, and `server` answers requests.
"""
