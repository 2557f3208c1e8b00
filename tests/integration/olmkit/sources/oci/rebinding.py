"""DNS rebinding: names whose address changes with each query. test_image_rebinding.py runs this program in its own namespaces.

Port 53 and /etc/resolv.conf are private there, and only loopback is reachable. The result is written to seen.json.
"""

from __future__ import annotations

import asyncio
import json
import struct
import subprocess
import sys
from pathlib import Path

from aiohttp import web

from olmkit.errors import Waiting
from olmkit.sources.oci import image
from olmkit.sources.oci.registries_conf import Registries, parse
from tests.servers.closing import close

OUTSIDE, INSIDE = "10.99.0.1", "127.0.0.1"
PORT = 8080
PLAIN = Registries(parse('[[registry]]\nprefix = "*"\ninsecure = true\n'))
"""Every registry may speak plain HTTP. A wildcard does not name a host, so all addresses are checked."""


class Names(asyncio.DatagramProtocol):
    """A name server for A records: each query of a name gets the next of its `addresses`, and then always the last."""

    def __init__(self, addresses: dict[str, list[list[str]]]) -> None:
        self._addresses = addresses

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        """See asyncio.DatagramProtocol."""
        self._transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        """Respond to a query."""
        end = data.index(b"\0", 12)
        name, kind = _name(data[12:end]), struct.unpack(">H", data[end + 1 : end + 3])[0]
        turns = self._addresses.get(name, [[]])
        found = (turns.pop(0) if len(turns) > 1 else turns[0]) if kind == 1 else []
        head = data[:2] + struct.pack(">HHHHH", 0x8580, 1, len(found), 0, 0)
        answers = [b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + bytes(map(int, each.split("."))) for each in found]
        self._transport.sendto(head + data[12 : end + 5] + b"".join(answers), address)


def _name(labels: bytes) -> str:
    parts = []
    while labels:
        parts.append(labels[1 : labels[0] + 1].decode())
        labels = labels[labels[0] + 1 :]
    return ".".join(parts)


async def _listen(host: str, hits: list[str]) -> web.AppRunner:
    async def answer(request: web.Request) -> web.StreamResponse:
        hits.append(f"{host} {request.path}")
        return web.Response(status=404, headers={"Connection": "close"})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, PORT).start()
    return runner


async def _error_of(host: str) -> str:
    try:
        await image.resolve(f"{host}:{PORT}/a:v1", PLAIN)
    except Waiting as error:
        return f"{error.reason}: {error.message}"
    return "resolved"


async def main(directory: Path) -> None:
    """Write the errors for each name, and the requests, as JSON."""
    loop = asyncio.get_running_loop()
    # The first query is for the detection of TLS, whose connection is kept.
    names = {
        "rebind.test": [[OUTSIDE], [INSIDE]],
        "both.test": [[INSIDE, OUTSIDE]],
        "inside.test": [[INSIDE]],
    }
    await loop.create_datagram_endpoint(lambda: Names(names), local_addr=(INSIDE, 53))
    hits: list[str] = []
    runners = [await _listen(host, hits) for host in (OUTSIDE, INSIDE)]
    errors = {name: [await _error_of(name), await _error_of(name)] for name in names}
    for runner in runners:
        await close(runner)
    (directory / "seen.json").write_text(json.dumps({"errors": errors, "hits": hits}))


def prepare(directory: Path) -> None:
    """Set up loopback, an address outside the loopback range, and the resolver."""
    for command in (("link", "set", "lo", "up"), ("address", "add", f"{OUTSIDE}/32", "dev", "lo")):
        subprocess.run(["ip", *command], check=True)
    (directory / "resolv.conf").write_text(f"nameserver {INSIDE}\noptions timeout:1 attempts:1\n")
    subprocess.run(["mount", "--bind", str(directory / "resolv.conf"), "/etc/resolv.conf"], check=True)


if __name__ == "__main__":
    prepare(Path(sys.argv[1]))
    asyncio.run(main(Path(sys.argv[1])))
