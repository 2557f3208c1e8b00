"""Log lines: one JSON object per line on stderr, with the keys ts, level, logger and msg, and further fields.

Configured once by olmkit.runtime.manager. Modules log with the standard library (`logging.getLogger(__name__)`) and add fields by
`extra={...}`; controller, name and reconcileID of the current pass come from a context variable. Never logs a manifest.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

import orjson

from olmkit.errors import encodable

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_NO_PASS: Mapping[str, str] = {}
_pass: ContextVar[Mapping[str, str]] = ContextVar("olmkit_pass", default=_NO_PASS)


@contextmanager
def pass_facts(controller: str, name: str, reconcile_id: str) -> Iterator[None]:
    """Log lines inside the context have these three fields."""
    token = _pass.set({"controller": controller, "name": name, "reconcileID": reconcile_id})
    try:
        yield
    finally:
        _pass.reset(token)


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON; an exception becomes `error` (its text) and `stacktrace`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its newline."""
        line: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **_pass.get(),
        }
        line.update((key, value) for key, value in vars(record).items() if key not in _STANDARD)
        if record.exc_info and record.exc_info[1] is not None:
            line.setdefault("error", str(record.exc_info[1]))
            line["stacktrace"] = self.formatException(record.exc_info)
        try:
            return _dumped(line)
        except TypeError:  # a lone surrogate, which orjson does not encode, at any depth
            return json.dumps(_encodable(line))


def _dumped(line: dict[str, object]) -> str:
    return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _encodable(value: object) -> object:
    """The value of JSON without lone surrogates; what is no value of JSON as its text."""
    if isinstance(value, Mapping):
        return {encodable(str(key)): _encodable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(each) for each in value]
    return value if value is None or isinstance(value, int | float) else encodable(str(value))


def configure(level: str = "info") -> None:
    """Send everything of `level` (debug, info, warning, error) and above to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for chatty in ("aiohttp.access", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
