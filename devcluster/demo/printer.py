"""Prints the output of the demo: lines with the seconds since its start, changes of conditions, progress."""

import re
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from devcluster.watch import Event

_LINE_LIMIT = 150
_PROGRESS_SECONDS = 5.0
_DIGEST = re.compile(r"(sha256:[0-9a-f]{8})[0-9a-f]{56}")
# In the order of the work; other types come last.
_ORDER = ("Resolved", "Unpacked", "HasValidBundle", "Serving", "Valid", "Installed", "Healthy", "Reconciling", "Ready")


class Printer:
    """Prints to `stream`. On a terminal the progress line is overwritten; elsewhere a line is printed every few seconds."""

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        """Times count from here."""
        self._stream = stream
        self._began = time.monotonic()
        self._is_terminal = stream.isatty()
        self._progress_shown = False
        self._progress_at = 0.0
        self._seen: dict[tuple[str, str], tuple[str, str]] = {}
        self._printed: set[tuple[str, str]] = set()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def log(self, line: str) -> None:
        """Print the time and a line."""
        self._end_progress()
        print(f"{self.seconds:7.1f} s  {line}", file=self._stream, flush=True)

    def indented(self, text: str) -> None:
        """Print text, indented."""
        self._end_progress()
        for line in text.rstrip("\n").splitlines():
            print(f"            {line}", file=self._stream)
        self._stream.flush()

    def plain(self, text: str = "") -> None:
        """Print text without the time."""
        self._end_progress()
        print(text, file=self._stream, flush=True)

    def progress(self, line: str, *, last: bool = False) -> None:
        """Show progress; `last` prints the final line."""
        now = time.monotonic()
        if self._is_terminal:
            print(f"\r\033[K{self.seconds:7.1f} s  {line}", end="", file=self._stream, flush=True)
            self._progress_shown = True
        elif last or now - self._progress_at >= _PROGRESS_SECONDS:
            self._progress_at = now
            self.log(line)

    def condition_changes(self, kind: str, event: Event) -> None:
        """Print the changes of an object's conditions since its last event. No message is printed twice."""
        about = f"{kind} {event.name}"
        if event.object is None:
            self.log(f"{about} is deleted")
            return
        for found in _conditions(event.object):
            now = (found["status"], found["reason"])
            if self._seen.get((about, found["type"])) == now:
                continue
            self._seen[about, found["type"]] = now
            if found["status"] != "Unknown" and (about, found["message"]) not in self._printed:
                self._printed.add((about, found["message"]))
                self.log(f"{about}: {_formatted(found)}")

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


def _formatted(found: Mapping[str, Any]) -> str:
    message = _DIGEST.sub(r"\1…", found["message"])
    return shortened(f"{found['type']}={found['status']} ({found['reason']}) {message}")
