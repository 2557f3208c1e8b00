"""What was served before is being verified while the process is still being loaded.

Begun by catalogd.__main__ before the rest of catalogd is imported, asked by catalogd.keeping.disk. Imports little. Only looks:
what is wrong is for the shelf to say and to remove.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from catalogd.keeping.note import parse
from olmkit.errors import OlmError
from olmkit.store import Store

CONTENT = "content"
NOTE = "catalogs.json"
AT_ONCE = 4
"""Contents that are verified at a time."""


class Ahead:
    """Begins at once, in threads, with the content that the note in `root` names. A note or a folder that cannot be read is
    none."""

    def __init__(self, root: Path) -> None:
        self._faults: dict[str, Future[str]] = {}
        with suppress(OSError, OlmError):
            note = parse((root / NOTE).read_bytes())
            store = Store(root / CONTENT)
            threads = ThreadPoolExecutor(AT_ONCE, "ahead")
            for digest in sorted({record.digest for record in note.records.values()}):
                self._faults[digest] = threads.submit(store.fault, digest)
            threads.shutdown(wait=False)

    def fault(self, digest: str) -> str | None:
        """What Store.fault says of that content, waited for; None when it was not looked at, or this was asked before."""
        found = self._faults.pop(digest, None)
        return None if found is None else found.result()
