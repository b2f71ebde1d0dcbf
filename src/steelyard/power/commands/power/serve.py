"""`steelyard power serve`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.power.command_line.connections import Key

PLACE = 80


def command(
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="PLACE",
            help="Store to serve: a folder, such as readings, or cassandra://HOST/KEYSPACE (required without --dashboard).",
        ),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Address to listen on, such as admin:9464. An address that other machines can reach needs --token-file.",
        ),
    ] = "127.0.0.1:9464",
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="File with the token that each request must send, such as token (default: no token).",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="PEM file with the server's certificate, such as cert.pem. Turns TLS on (default: no TLS).",
        ),
    ] = None,
    key: Key = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Accept a token file that other users can read.")
    ] = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print a dashboard for Grafana as JSON and stop.")
    ] = False,
) -> None:
    """Serve the newest readings of a store by HTTP, for a Prometheus that scrapes /metrics.

    /health answers ok if the store can be read.

    Ctrl-C or SIGTERM stops the server cleanly.

    Examples: **steelyard power serve --store readings** ·
    **steelyard power serve --store readings --listen admin:9464 --token-file token --certificate cert.pem --key key.pem** ·
    **steelyard power serve --dashboard > dashboard.json**
    """
    import json

    from steelyard.errors import UsageError
    from steelyard.power.command_line import connections
    from steelyard.power.http import door
    from steelyard.power.http.dashboard import make_dashboard
    from steelyard.power.http.server import Server

    if dashboard:
        print(json.dumps(make_dashboard(), indent=1))
        return
    if store is None:
        raise UsageError("There is no store to serve. Name one with --store PLACE.")
    at = door.parse_address(listen)
    word = door.read_token(token_file, insecure) if token_file else ""
    door.expect_token(at, word)
    shown = door.load_tls(certificate, key)
    if not at.loopback and not shown:
        connections.say(
            "Without --certificate, anyone on the network path can read the token. Name a certificate with --certificate, or "
            "put a proxy with TLS in front of this server."
        )
    with connections.open_store(store) as kept, door.listen(at) as socket, connections.run_until_signal():
        connections.say(f"Serving at {door.place(socket, shown)}. Ctrl-C stops it.")
        Server(kept, socket, word, shown).run()
