"""The job that reads one catalog: image -> files -> content by digest in the store.

Runs in a child process of olmkit.jobs, started by catalogd.reconciler. Returns a few words; the content goes over the disk. Never
talks to the API server.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catalogd.writing import Writer
from olmkit.errors import OlmError
from olmkit.fbc.errors import BadCatalog
from olmkit.fbc.reading import read_folder
from olmkit.jobs import Task
from olmkit.sources.addresses import SourceAddresses
from olmkit.sources.errors import BadContent
from olmkit.sources.image import CATALOG, FromLabel, ResolvedRef, pull, resolve
from olmkit.sources.registries import Registries
from olmkit.store import Store

LABEL = "operators.operatorframework.io.index.configs.v1"
"""The label of a catalog image that names the folder of its files."""

NO_CATALOG = "NotACatalog"
"""The reason of BadContent when the image's files cannot be read as a catalog."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Loader:
    """What all loading jobs of a process have in common: the store's folder, and the rules for where images may come from.

    `allowed` are CIDRs, `denied` hosts that are refused (the API server's).
    """

    store: Path
    registries_conf: Path | None = None
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()

    def task(self, ref: str, known: str, bad: BadContent | None) -> Task:
        """The job for a reference. `known` is the digest that is served ("" none), `bad` what was found wrong the last time."""
        arguments = {
            "ref": ref,
            "store": str(self.store),
            "registriesConf": str(self.registries_conf) if self.registries_conf else None,
            "allowed": list(self.allowed),
            "denied": list(self.denied),
            "known": known,
            "bad": [bad.reason, bad.message, bad.ref] if bad else None,
        }
        return Task("catalogd.loading:load", arguments)


async def load(arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Put what a reference means now into the store: {"image": reference by digest, "digest": …}.

    Pulls nothing when the tag still means what is served, what is stored already or what was refused before. Raises what
    olmkit.sources raises, and BadContent for files that are no catalog.
    """
    addresses = SourceAddresses.load(arguments["allowed"], arguments["denied"])
    registries = Registries.load(Path(arguments["registriesConf"]) if arguments["registriesConf"] else None, addresses)
    store = Store(Path(arguments["store"]))
    with _named("source catalog content"):
        found = await resolve(arguments["ref"], registries)
    if arguments["bad"] and arguments["bad"][2] == found.ref_by_digest:
        raise BadContent(*arguments["bad"])
    if found.digest != arguments["known"] and not store.verify(found.digest):
        store.forget(found.digest)
        await _fetch(found, store, registries, progress)
    return {"image": found.ref_by_digest, "digest": found.digest}


async def _fetch(found: ResolvedRef, store: Store, registries: Registries, progress: Progress) -> None:
    with store.publish(found.digest) as folder, tempfile.TemporaryDirectory(dir=folder) as files:
        with _named("source catalog content"):
            pulled = await pull(
                found.ref_by_digest, Path(files), registries, only=FromLabel(LABEL), limits=CATALOG, progress=progress
            )
        progress("reading the catalog")
        try:
            write(Path(files, pulled.root), folder, found.digest)
        except BadCatalog as error:
            raise BadContent(NO_CATALOG, f"load FBC from filesystem: {error}", found.ref_by_digest) from error


def write(files: Path, folder: Path, digest: str) -> None:
    """Read a catalog's files and write its content into `folder`. Raises BadCatalog, also when there is no blob at all."""
    with Writer(folder, digest) as writer:
        for blob in read_folder(files):
            writer.add(blob)
        if writer.finish().blob_count == 0:
            raise BadCatalog(
                "the catalog holds no blobs: the folder that the image's label names has no file with content"
                " that .indexignore does not exclude"
            )


@contextmanager
def _named(step: str) -> Iterator[None]:
    """Errors say in which step they happened."""
    try:
        yield
    except OlmError as error:
        error.message = f"{step}: {error.message}"
        raise
