"""A git repository whose commits Flux reads as ExternalArtifacts, the kind for sources that are not Flux's own.

Flux's source-controller is not used: a module that it requires is not published for Go's module proxy. As third-party source
controllers do, `push` archives the commit, serves the archive on loopback and names it in the status.
"""

import functools
import hashlib
import json
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from devcluster.cluster import Cluster
from devcluster.gitops.clone import BRANCH, Clone, Git


class ArtifactRepository:
    """A git repository in `directory`, and the ExternalArtifact `name` with its last commit."""

    def __init__(self, cluster: Cluster, directory: Path, namespace: str, name: str) -> None:
        """Create the repository and the object, without a commit, and start to serve. Raises DevclusterError."""
        self._cluster = cluster
        self._namespace = namespace
        self.name = name
        self._clone = Clone(Git(), directory / "clone")
        self._served = directory / "served"
        self._served.mkdir(parents=True)
        handler = functools.partial(_QuietHandler, directory=str(self._served))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="artifact server", daemon=True)
        self._thread.start()
        self._apply()

    def push(self, files: Mapping[str, str]) -> str:
        """Commit exactly these files (path -> content) and publish the commit; return its revision as Flux shows it."""
        commit = self._clone.commit(files)
        archive = self._served / f"{commit}.tar.gz"
        # The archive of a commit has a header that names it; that of its tree has files alone.
        self._clone.git("archive", "--format=tar.gz", f"--output={archive}", f"{commit}^{{tree}}")
        revision = f"{BRANCH}@sha1:{commit}"
        self._publish(archive, revision)
        return revision

    def close(self) -> None:
        """Delete the object and stop to serve."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._cluster.kubectl("delete", "externalartifact", self.name, f"--namespace={self._namespace}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _apply(self) -> None:
        artifact = {
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "ExternalArtifact",
            "metadata": {"name": self.name, "namespace": self._namespace},
            "spec": {},
        }
        self._cluster.kubectl("apply", "--server-side", "--filename=-", input=json.dumps(artifact))

    def _publish(self, archive: Path, revision: str) -> None:
        data = archive.read_bytes()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        artifact = {
            "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            "lastUpdateTime": now,
            "path": archive.name,
            "revision": revision,
            "size": len(data),
            "url": f"http://127.0.0.1:{self._server.server_address[1]}/{archive.name}",
        }
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "Succeeded",
            "message": f"stored artifact for revision '{revision}'",
            "lastTransitionTime": now,
        }
        patch = json.dumps({"status": {"artifact": artifact, "conditions": [ready]}})
        self._cluster.kubectl(
            *("patch", "externalartifact", self.name, f"--namespace={self._namespace}"),
            *("--subresource=status", "--type=merge", "--patch", patch),
        )


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are not logged."""
