"""Where a Cassandra is: cassandra://[USER@]HOST[:PORT][,HOST…][/KEYSPACE][?ca=FILE&password-file=FILE], and a session with it."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from steelyard.errors import UsageError
from steelyard.model.numbers import host_and_port
from steelyard.system.files import secret

if TYPE_CHECKING:
    from cassandra.cluster import Session

SCHEME = "cassandra://"
PORT = 9042
TIMEOUT = 20.0  # seconds for an answer


def connect(place: str, make: bool, tables: Sequence[str]) -> tuple[Any, "Session", str]:
    """Returns the cluster, a session with it, and the keyspace; `make` makes keyspace and tables where they are not there.

    UsageError for a place that is none or without the tables; the driver's own errors where no server answers.
    """
    from cassandra import ConsistencyLevel
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.policies import RoundRobinPolicy, TokenAwarePolicy
    from cassandra.query import tuple_factory

    user, hosts, keyspace, asked = _split_place(place)
    logging.getLogger("cassandra").addHandler(logging.NullHandler())  # errors that it logs are also raised
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy()),
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        request_timeout=TIMEOUT,
        row_factory=tuple_factory,
    )
    cluster = Cluster(
        [host for host, _ in hosts],
        port=hosts[0][1],
        auth_provider=PlainTextAuthProvider(user, _read_password(asked)) if user else None,
        ssl_context=_make_tls_context(asked),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        connect_timeout=TIMEOUT,
        control_connection_timeout=TIMEOUT,  # for the tables: a busy server may take more than the driver's 2 s
        protocol_version=5,  # Cassandra 4 and later: it is not asked which
    )
    try:
        session = cluster.connect()
        session.default_fetch_size = 50_000
        if make:
            copies = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
            session.execute(f"create keyspace if not exists {keyspace} with replication = {copies}")
            for table in tables:
                session.execute(f"create table if not exists {keyspace}.{table}")
        elif "readings" not in getattr(cluster.metadata.keyspaces.get(keyspace), "tables", ()):
            raise UsageError(
                f"'{place}' is not a store of readings: there is no keyspace '{keyspace}' with Steelyard's tables."
            )
    except BaseException:
        cluster.shutdown()
        raise
    return cluster, session, keyspace


def explain(error: Exception) -> str:
    """Returns what the driver says; of a request without an answer it says nothing that a reader understands."""
    from cassandra import OperationTimedOut

    return f"no answer within {TIMEOUT:g} s" if isinstance(error, OperationTimedOut) else str(error)


def _split_place(place: str) -> tuple[str, list[tuple[str, int]], str, dict[str, str]]:
    """User, hosts with their port, keyspace and the rest of a place. UsageError for one that is none."""
    user, _, rest = place.removeprefix(SCHEME).rpartition("@")
    refused = UsageError(
        f"'{place}' is not a valid place of a store: expected {SCHEME}[USER@]HOST[:PORT][,HOST…][/KEYSPACE]"
        "[?ca=FILE&password-file=FILE], with one port for all hosts."
    )
    try:
        split = urlsplit(f"//{rest}")
    except ValueError:  # a bracket that is not closed
        raise refused from None
    asked = {name: values[-1] for name, values in parse_qs(split.query).items()}
    hosts = []
    for each in split.netloc.split(","):
        host, port = host_and_port(each)
        hosts.append((host, int(port or PORT)))
    keyspace = split.path.strip("/") or "steelyard"
    wrong = not all(host and 0 < port < 1 << 16 for host, port in hosts)
    wrong = wrong or not keyspace.isidentifier() or bool(asked.keys() - {"ca", "password-file"})
    if wrong or len({port for _, port in hosts}) > 1:
        raise refused
    return user, hosts, keyspace, asked


def _read_password(asked: Mapping[str, str]) -> str:
    return secret(Path(asked.get("password-file", "")), "password")


def _make_tls_context(asked: Mapping[str, str]) -> Any:
    import ssl

    try:
        return ssl.create_default_context(cafile=asked["ca"]) if "ca" in asked else None
    except OSError as error:
        raise UsageError(f"The certificate '{asked['ca']}' cannot be read (?ca=FILE): {error}.") from None
