"""A process with few file descriptors that serves probes and metrics until its standard input ends. Run by test_probes."""

from __future__ import annotations

import asyncio
import resource
import sys
from contextlib import AsyncExitStack

from olmkit.runtime import logs
from olmkit.runtime.probes import serve_health, serve_metrics

DESCRIPTORS = 256


async def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    logs.configure("info")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(serve_health("127.0.0.1:0", lambda: {"example": True}))
        await stack.enter_async_context(serve_metrics("127.0.0.1:0"))
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
