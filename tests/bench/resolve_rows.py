"""Rows of resolving an Operator in a package with many entries: CPU of reading the document, of the first and of later passes."""

from __future__ import annotations

import time
from collections.abc import Iterator

from olmkit.gocompat.versions import parse_version
from operator_controller.resolve.documents.document_reader import read_package
from operator_controller.resolve.explain.explanation import explain
from operator_controller.resolve.snapshot.package_snapshot import (
    CatalogOffer,
    PackageRequest,
    PackageSnapshot,
    RunningBundle,
)
from tests.bench.figures import Figure
from tests.unit.operator_controller.resolve.selection.one_package import resolve

SIZES = ((1_000, 0), (5_000, 50), (50_000, 18))
"""Number of entries, and of `skips` in each; each entry also has a skipRange and a `replaces`."""
AIMS = {5_000: "0.2 s for the first pass"}


def rows() -> Iterator[Figure]:
    """The installed bundle is the first version, so that every entry is reachable."""
    for size, skips in SIZES:
        document = _document(size, skips)
        started = time.process_time()
        content = read_package(document)
        read = time.process_time()
        runs = RunningBundle("p.v1.0.0", "r", "p", parse_version("1.0.0"), "1.0.0", "c", "stable")
        snapshot = PackageSnapshot(PackageRequest("p", (), None), (CatalogOffer("c", package=content),), runs)
        explain(resolve(snapshot))
        first = time.process_time()
        explain(resolve(snapshot))
        again = time.process_time()
        yield Figure(
            f"resolve one Operator in a package with {size} entries, {skips} skips and a skipRange each",
            f"{first - read:.2f} s of CPU the first time, {again - first:.2f} s again; {read - started:.2f} s to read it",
            AIMS.get(size, ""),
        )


def _document(size: int, skips: int) -> dict[str, object]:
    names = [f"p.v1.{number}.0" for number in range(size)]
    entries = [
        {
            "name": name,
            "replaces": names[number - 1] if number else "",
            "skips": names[max(0, number - skips) : number],
            "skipRange": f">=1.{max(0, number - 20)}.0 <1.{number}.0",
        }
        for number, name in enumerate(names)
    ]
    bundles = [{"name": name, "version": name.removeprefix("p.v"), "image": f"r/{name}"} for name in names]
    channels = [{"name": "stable", "entries": entries}]
    return {"package": "p", "defaultChannel": "stable", "channels": channels, "bundles": bundles}
