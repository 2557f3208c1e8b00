"""What the demo prints: lines with the seconds since its start, transitions of conditions, one line of progress."""

import re
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from devcluster.watch import Event

_LINE_LIMIT = 150
_PROGRESS_SECONDS = 5.0
_DIGEST = re.compile(r"(sha256:[0-9a-f]{8})[0-9a-f]{56}")
# As the work goes; what is not named comes last.
_ORDER = ("Resolved", "Unpacked", "HasValidBundle", "Serving", "Valid", "Installed", "Healthy", "Reconciling", "Ready")


class Printer:
    """Prints to `stream`; on a terminal the line of progress is written over, elsewhere it is printed now and then."""

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        """The clock starts now."""
        self._stream = stream
        self._began = time.monotonic()
        self._is_terminal = stream.isatty()
        self._progress_shown = False
        self._progress_at = 0.0
        self._seen: dict[tuple[str, str], tuple[str, str]] = {}
        self._told: set[tuple[str, str]] = set()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def log(self, line: str) -> None:
        """Print a line after the time."""
        self._end_progress()
        print(f"{self.seconds:7.1f} s  {line}", file=self._stream, flush=True)

    def indented(self, text: str) -> None:
        """Print text as it is, indented."""
        self._end_progress()
        for line in text.rstrip("\n").splitlines():
            print(f"            {line}", file=self._stream)
        self._stream.flush()

    def plain(self, text: str = "") -> None:
        """Print text as it is, without time."""
        self._end_progress()
        print(text, file=self._stream, flush=True)

    def progress(self, line: str, *, last: bool = False) -> None:
        """Show how far something is."""
        now = time.monotonic()
        if self._is_terminal:
            print(f"\r\033[K{self.seconds:7.1f} s  {line}", end="", file=self._stream, flush=True)
            self._progress_shown = True
        elif last or now - self._progress_at >= _PROGRESS_SECONDS:
            self._progress_at = now
            self.log(line)

    def condition_changes(self, kind: str, event: Event) -> None:
        """Say what changed in an object's conditions since the last event of this object; nothing twice."""
        about = f"{kind} {event.name}"
        if event.object is None:
            self.log(f"{about} is gone")
            return
        for found in _conditions(event.object):
            now = (found["status"], found["reason"])
            if self._seen.get((about, found["type"])) == now:
                continue
            self._seen[about, found["type"]] = now
            if found["status"] != "Unknown" and (about, found["message"]) not in self._told:
                self._told.add((about, found["message"]))
                self.log(f"{about}: {_told(found)}")

    def _end_progress(self) -> None:
        if self._progress_shown:
            self._progress_shown = False
            print(file=self._stream)


def shortened(text: str, limit: int = _LINE_LIMIT) -> str:
    """The text as one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _conditions(object_: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = (object_.get("status") or {}).get("conditions") or ()
    return sorted(found, key=lambda one: _ORDER.index(one["type"]) if one["type"] in _ORDER else len(_ORDER))


def _told(found: Mapping[str, Any]) -> str:
    message = _DIGEST.sub(r"\1…", found["message"])
    return shortened(f"{found['type']}={found['status']} ({found['reason']}) {message}")
