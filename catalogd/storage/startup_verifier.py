"""What was served before is being verified while the process is still being loaded.

Begun by catalogd.__main__ before the rest of catalogd is imported, asked by catalogd.storage.disk. Imports little. Only looks:
what is wrong is for the shelf to say and to remove.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from catalogd.storage.state_file import parse
from olmkit.errors import OlmError
from olmkit.store.checksums import IntegrityCheck
from olmkit.store.store import Store

CONTENT_FOLDER = "content"
STATE_FILE = "catalogs.json"
MAX_CONCURRENT_VERIFICATIONS = 4
"""Contents that are verified at a time."""


class StartupVerifier:
    """Begins at once, in threads, with the content that the note in `root` names. A note or a folder that cannot be read is
    none."""

    def __init__(self, root: Path) -> None:
        self._checks: dict[str, Future[IntegrityCheck]] = {}
        with suppress(OSError, OlmError, RuntimeError):  # the last: no thread can be started
            note = parse((root / STATE_FILE).read_bytes())
            store = Store(root / CONTENT_FOLDER)
            threads = ThreadPoolExecutor(MAX_CONCURRENT_VERIFICATIONS, "ahead")
            for digest in sorted({record.digest for record in note.records.values()}):
                self._checks[digest] = threads.submit(store.check_integrity, digest)
            threads.shutdown(wait=False)

    def check(self, digest: str) -> IntegrityCheck | None:
        """What Store.check says of that content, waited for; None when it was not looked at, or this was asked before."""
        found = self._checks.pop(digest, None)
        return None if found is None else found.result()
