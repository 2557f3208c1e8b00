"""Rows of catalogd over HTTPS: requests per second for one bundle, one package, the list of packages, and the whole catalog."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

from devcluster.suite import Suite
from tests.bench.figures import Figure
from tests.bench.load import measure

ENCODED_SECONDS = 120.0


def rows(suite: Suite, catalog: str) -> Iterator[Figure]:
    """`catalog` is served by the catalogd of the suite."""
    base = f"https://{suite.addresses['catalogd'].catalogs}/catalogs/{catalog}/api/v1"
    tls = suite.tls_context()
    bundle = _typical_bundle(base, suite)
    package = bundle["package"]
    _await_encoded(base, suite)
    targets = (
        ("metas for one bundle", f"metas?package={package}&name={bundle['name']}", "", "2,400 requests/s"),
        ("metas for one package", f"metas?package={package}", "", "435 requests/s for 1.5 MB"),
        ("packages, the list for consoles", "packages", "gzip", ""),
        ("all, gzip", "all", "gzip", "77 requests/s of 9 MB"),
        ("all, zstd", "all", "zstd", ""),
        ("all, identity", "all", "", "17.6 requests/s for 67 MB (1.1 GB/s)"),
    )
    for name, path, encoding, aim in targets:
        rate = asyncio.run(measure(f"{base}/{path}", tls, encoding))
        size = rate.bytes / max(rate.requests, 1e-9)
        yield Figure(
            f"{name} ({size / 1000:.0f} kB), TLS, 8 connections",
            f"{rate.requests:.0f} requests/s, {rate.bytes / 1e6:.0f} MB/s",
            aim,
        )


def _open(url: str, suite: Suite, **headers: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=suite.tls_context())


def _await_encoded(base: str, suite: Suite) -> None:
    """Wait for the compressed responses, which are created with low priority."""
    deadline = time.monotonic() + ENCODED_SECONDS
    for encoding in ("gzip", "zstd"):
        while _encoding(f"{base}/all", suite, encoding) != encoding:
            assert time.monotonic() < deadline, f"there is no {encoding} after {ENCODED_SECONDS:.0f} s"
            time.sleep(0.2)


def _encoding(url: str, suite: Suite, encoding: str) -> str:
    with _open(url, suite, **{"Accept-Encoding": encoding, "Range": "bytes=0-0"}) as response:
        return str(response.headers.get("Content-Encoding", ""))


def _typical_bundle(base: str, suite: Suite) -> dict[str, Any]:
    """The bundle whose blob is closest to 61 kB, the size that the aim is for."""
    with _open(f"{base}/metas?schema=olm.bundle", suite) as response:
        lines: list[bytes] = response.read().splitlines()
    bundle: dict[str, Any] = json.loads(min(lines, key=lambda line: abs(len(line) - 61_000)))
    return bundle
