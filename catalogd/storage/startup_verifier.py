"""Verifies the content of the previous process while the modules of catalogd are imported.

Started by catalogd.__main__ before the rest of catalogd is imported; catalogd.storage.disk takes the results. Imports little.
Only reads: corrupt content is reported and removed by catalogd.storage.catalog_store.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from catalogd.storage.state_file import parse
from olmkit.errors import OlmError
from olmkit.store.checksums import IntegrityCheck
from olmkit.store.store import Store

CONTENT_DIRECTORY = "content"
STATE_FILE = "catalogs.json"
MAX_CONCURRENT_VERIFICATIONS = 4
"""Contents that are verified at the same time."""


class StartupVerifier:
    """Starts to verify, in threads, the content that the state file in `root` names.

    A state file or directory that cannot be read is treated as empty.
    """

    def __init__(self, root: Path) -> None:
        self._checks: dict[str, Future[IntegrityCheck]] = {}
        with suppress(OSError, OlmError, RuntimeError):  # the last: no thread can be started
            state = parse((root / STATE_FILE).read_bytes())
            store = Store(root / CONTENT_DIRECTORY)
            threads = ThreadPoolExecutor(MAX_CONCURRENT_VERIFICATIONS, "startup-verifier")
            for digest in sorted({record.digest for record in state.records.values()}):
                self._checks[digest] = threads.submit(store.check_integrity, digest)
            threads.shutdown(wait=False)

    def check(self, digest: str) -> IntegrityCheck | None:
        """Wait for the result of Store.check_integrity; None when it was not verified or was taken before."""
        found = self._checks.pop(digest, None)
        return None if found is None else found.result()
