"""A real Cassandra of one server on this machine, from Maven Central's jars (Java 17 and Maven are needed).

python tests/power/chain/cassandra_server.py FOLDER      starts one on port 19042, until Ctrl-C
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

VERSION = "5.0.5"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>none</groupId><artifactId>none</artifactId><version>1</version><dependencies><dependency>
<groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>{VERSION}</version>
</dependency></dependencies></project>
"""
# "group": a write is acknowledged once it is in the log, so that a server that is killed has lost nothing.
SETTINGS = """cluster_name: steelyard
num_tokens: 16
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{{seeds: "127.0.0.1:{internal}"}}]
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
storage_port: {internal}
ssl_storage_port: {internal_tls}
native_transport_port: {port}
endpoint_snitch: SimpleSnitch
commitlog_sync: group
commitlog_sync_group_window: 20ms
commitlog_directory: {folder}/commitlog
data_file_directories: [{folder}/data]
saved_caches_directory: {folder}/saved
hints_directory: {folder}/hints
cdc_raw_directory: {folder}/cdc
auto_bootstrap: false
"""
# What Cassandra takes from Java's inside.
EXPORTED = """
java.base/jdk.internal.misc
java.base/jdk.internal.ref
java.base/java.lang.ref
java.base/sun.nio.ch
java.management.rmi/com.sun.jmx.remote.internal.rmi
java.rmi/sun.rmi.registry
java.rmi/sun.rmi.server
java.rmi/sun.rmi.transport.tcp
java.sql/java.sql
jdk.unsupported/sun.misc
"""
OPENED = """
java.base/java.lang.module
java.base/jdk.internal.loader
java.base/jdk.internal.ref
java.base/jdk.internal.reflect
java.base/jdk.internal.math
java.base/jdk.internal.module
java.base/jdk.internal.util.jar
java.base/sun.nio.ch
java.base/java.io
java.base/java.lang
java.base/java.math
java.base/java.net
java.base/java.nio
java.base/java.util
java.base/java.util.concurrent
java.base/java.util.concurrent.atomic
jdk.management/com.sun.management.internal
"""


def missing() -> str:
    """What is not installed; nothing where Cassandra can run."""
    return ", ".join(program for program in ("java", "mvn") if not shutil.which(program))


def jars() -> Path:
    """The folder of the jars; fetched once."""
    cache = (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steelyard-tests" / f"cassandra-{VERSION}"
    )
    if not cache.exists():
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache.parent) as making:
            (Path(making) / "pom.xml").write_text(POM)
            wanted = ("mvn", "-q", "dependency:copy-dependencies", "-DoutputDirectory=lib")
            subprocess.run(wanted, cwd=making, check=True, timeout=250)
            os.replace(Path(making) / "lib", cache)
    return cache


@dataclass
class Server:
    """`folder` is an absolute path; the server's own log is `log` in it."""

    folder: Path
    port: int = 19042
    internal: int = 17000
    program: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = 200) -> None:
        """Returns when it answers. TimeoutError where it does not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "cassandra.yaml"
        settings.write_text(
            SETTINGS.format(folder=self.folder, port=self.port, internal=self.internal, internal_tls=self.internal + 1)
        )
        library = jars()
        (agent,) = library.glob("jamm-*.jar")
        opens = [word for name in EXPORTED.split() for word in ("--add-exports", f"{name}=ALL-UNNAMED")]
        opens += [word for name in OPENED.split() for word in ("--add-opens", f"{name}=ALL-UNNAMED")]
        line = [
            "java", *opens, "-Xms1g", "-Xmx1500m", "-XX:+UseG1GC", f"-javaagent:{agent}",
            f"-Dcassandra.config=file://{settings}", f"-Dcassandra.storagedir={self.folder}",
            f"-Dcassandra.jmx.local.port={self.internal + 2}",
            "-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=100", "-Dcassandra-foreground=yes",
            "-cp", f"{self.folder}:{library}/*", "org.apache.cassandra.service.CassandraDaemon",
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self.program = subprocess.Popen(line, stdout=log, stderr=log, cwd=self.folder)
        late = time.monotonic() + seconds
        while not self.listens():
            if time.monotonic() > late or self.program.poll() is not None:
                raise TimeoutError((self.folder / "log").read_text(errors="replace")[-2000:])
            time.sleep(0.2)

    def listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """At once, as a machine that fails."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.program and self.program.poll() is None:
            self.program.send_signal(how)
            self.program.wait(60)


if __name__ == "__main__":
    server = Server(Path(sys.argv[1]).absolute())
    server.start()
    print(f"Cassandra {VERSION} answers: --store cassandra://127.0.0.1:{server.port}; Ctrl-C ends it", flush=True)
    try:
        assert server.program
        server.program.wait()
    except KeyboardInterrupt:
        server.stop()
