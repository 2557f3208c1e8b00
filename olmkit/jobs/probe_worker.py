"""The child process that runs the probes of many jobs, concurrently and one after the other. Started by olmkit.jobs.probe_pool.

Requests and answers are JSON lines: {"id", "function", "request"} in; {"id", "result"} out, where null means that the job
itself is to run, or {"id", "error"} with an OlmError. Ends when the controller closes the channel.
"""

from __future__ import annotations

import asyncio
import socket
import traceback
from typing import Any

import orjson

from olmkit.errors import OlmError
from olmkit.jobs import codec, job_functions, protocol
from olmkit.jobs.job_functions import Implementation


async def serve_probes(connection: socket.socket) -> None:
    """Answer until the other end is closed. Probes that run then are dropped."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=protocol.MAX_ANSWER_BYTES)
    running: set[asyncio.Task[None]] = set()
    while (line := await reader.readline()).endswith(b"\n"):
        task = asyncio.create_task(_answer(orjson.loads(line), writer))
        running.add(task)
        task.add_done_callback(running.discard)


async def _answer(message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    answer: dict[str, Any] = {"result": None}
    try:
        implementation = job_functions.find(message["function"])
        answer = await _probe(implementation, message["request"])
    except Exception:
        traceback.print_exc()  # the job itself runs then, and reports what is wrong
    writer.write(orjson.dumps({"id": message["id"], **answer}) + b"\n")


async def _probe(implementation: Implementation[Any, Any], request: object) -> dict[str, Any]:
    job, probe = implementation.job, implementation.probe
    if probe is None:
        raise LookupError(f"{job.function} has no probe")
    try:
        return {"result": codec.encode(await probe(codec.decode(job.request, request)))}
    except OlmError as error:
        return {"error": codec.encode_error(error, job.errors)}
