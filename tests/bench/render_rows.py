"""Rows of rendering: CPU per bundle, from the parsed bundle to objects as JSON, and CPU of parsing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from rukpak.format import BadBundle, RegistryBundle, from_json, read_registry, to_json
from rukpak.format.objects import BundleObject
from rukpak.render.renderer import RenderOptions, render
from tests.bench.figures import Figure

NAMESPACE = "target-system"
MODES: tuple[tuple[str, ...], ...] = (("",), (NAMESPACE,), ("watched",))
"""All namespaces, the install namespace, another namespace."""


def rows(directory: Path) -> Iterator[Figure]:
    """Every bundle of the corpus in three modes; an unsupported mode counts as refused."""
    parsed, read_seconds, broken = _parsed(directory)
    rendered = refused = 0
    started = time.process_time()
    for data in parsed:
        for mode in MODES:
            try:
                orjson.dumps([dict(manifest.body) for manifest in _render(data, mode)])
                rendered += 1
            except BadBundle:
                refused += 1
    seconds = time.process_time() - started
    yield Figure(
        f"read one registry+v1 bundle's files, {len(parsed)} bundles ({broken} refused)",
        f"{read_seconds / len(parsed) * 1000:.1f} ms of CPU each, once per bundle",
    )
    yield Figure(
        f"render one registry+v1 bundle, {len(parsed)} bundles x 3 modes ({rendered} rendered, {refused} not supported)",
        f"{seconds / (rendered + refused) * 1000:.1f} ms of CPU each incl. JSON",
    )
    yield Figure(
        "read and render one registry+v1 bundle in 3 modes, each of which counts as a rendering",
        f"{(read_seconds + seconds) / (rendered + refused) * 1000:.1f} ms of CPU a rendering",
        "6 ms",
    )


def _render(data: bytes, mode: tuple[str, ...]) -> list[BundleObject]:
    bundle = from_json(data)
    assert isinstance(bundle, RegistryBundle)
    return render(bundle, RenderOptions(NAMESPACE, mode, upstream=True))


def _parsed(directory: Path) -> tuple[list[bytes], float, int]:
    found: list[bytes] = []
    seconds, broken = 0.0, 0
    for bundle in sorted((directory / "bundles").glob("*/*")):
        files = {str(path.relative_to(bundle)): path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
        started = time.process_time()
        try:
            found.append(to_json(read_registry(files)))
        except BadBundle:
            broken += 1
        seconds += time.process_time() - started
    return found, seconds, broken
