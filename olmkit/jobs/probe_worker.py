"""The child that looks for many jobs, at once and one after the other: what Task.look names. Started by olmkit.jobs.probe_pool.

Questions and answers are JSON lines: {"id", "function", "arguments"} in; {"id"} out, with what the function returned as "result"
(null: the job itself shall be run) or with its OlmError as "error". Ends when the controller hangs up.
"""

from __future__ import annotations

import asyncio
import socket
import traceback
from typing import Any

import orjson

from olmkit.errors import OlmError
from olmkit.jobs import protocol


async def serve_probes(connection: socket.socket) -> None:
    """Until the other end is closed. What is being answered then is dropped."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=protocol.MAX_ANSWER_BYTES)
    running: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        task = asyncio.create_task(_answer(orjson.loads(line), writer))
        running.add(task)
        task.add_done_callback(running.discard)


async def _answer(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    said: dict[str, Any] = {"id": asked["id"], "result": None}
    try:
        said["result"] = await protocol.resolve(asked["function"])(asked["arguments"])
    except OlmError as error:
        said["error"] = protocol.error_to_json(error)
    except Exception:
        traceback.print_exc()  # the job itself says what this is about
    writer.write(orjson.dumps(said) + b"\n")
