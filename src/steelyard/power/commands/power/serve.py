"""`steelyard power serve`."""

from pathlib import Path
from typing import Annotated

import typer

PLACE = 80


def command(
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="PLACE", help="Store of readings: a folder, or cassandra://HOST/KEYSPACE."),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Address to listen on. An address beyond this machine needs --token-file.",
        ),
    ] = "127.0.0.1:9464",
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="File with the token that each request must send."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="File (PEM) with the server's certificate. Switches TLS on."
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="File (PEM) with the key of the certificate.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Accept a token file that other users can read.")
    ] = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print a dashboard for Grafana as JSON, and end.")
    ] = False,
) -> None:
    """Serve a store by HTTP: the newest readings for a Prometheus that scrapes them (/metrics), and an API (/openapi.json).

    Ctrl-C or SIGTERM ends it in good order.

    Examples: **steelyard power serve --store readings** ·
    **steelyard power serve --store readings --listen admin:9464 --token-file token --certificate cert.pem --key key.pem** ·
    **steelyard power serve --dashboard > dashboard.json**
    """
    from steelyard.errors import UsageError
    from steelyard.power import stores
    from steelyard.power.command_line import connections
    from steelyard.power.http import door, server

    if dashboard:
        print(server.dashboard(), end="")
        return
    if store is None:
        raise UsageError("Say which store is asked: --store PLACE.")
    server.expect_packages()
    at = door.address(listen)
    word = door.token(token_file, insecure) if token_file else ""
    door.expect_token(at, word)
    shown = door.secured(certificate, key)
    kept = stores.opened(store)
    for note in kept.notes:
        connections.say(note)
    if not at.loopback and not shown:
        connections.say(
            "without --certificate the token travels readable: let something before it speak TLS, or trust the network"
        )
    with door.opened(at) as socket, connections.until_ended():
        connections.say(f"answers at {door.place(socket, shown)}; Ctrl-C ends it")
        server.serve(kept, socket, word, shown)
