"""Catalogs that need far more resources than their size suggests, as layers: bombs, endless documents, too many items.

Each is a function, because some take time to make, together with the expected status of the Catalog.
"""

import gzip
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import zstandard

from tests.e2e.hostile import MEGABYTE, ZEROS, blob, catalog, gzipped, header, member, tar, zstd

_A = b'{"schema":"x","a":'
_YAML = "catalog.yaml"
_PACKAGE = blob("olm.package", name="p", defaultChannel="c0")


@dataclass(frozen=True)
class Refused:
    """A layer whose catalog is never served, and part of the message."""

    what: str
    layer: Callable[[], bytes]
    words: str


@dataclass(frozen=True)
class Served:
    """A layer whose catalog is unusual and served, and part of the message of its condition Valid."""

    what: str
    layer: Callable[[], bytes]
    words: str


def _json(start: bytes, piece: bytes, megabytes: int, end: bytes) -> bytes:
    """One document that repeats a piece for so many megabytes."""
    return catalog((start, 1), (piece * (MEGABYTE // len(piece)), megabytes), (end, 1))


def _yaml(start: bytes, piece: bytes, megabytes: int, end: bytes = b"\n") -> bytes:
    return catalog((start, 1), (piece * (MEGABYTE // len(piece)), megabytes), (end, 1), name=_YAML)


def _entries(kind: bytes) -> bytes:
    """A million entries."""
    block = b"".join(header(f"configs/e{number}", kind=kind) for number in range(1000))
    return gzipped(tar([(block, 1000)]))


def _aliases() -> bytes:
    lines = ["schema: x", f"a0: &a0 [{','.join('x' * 9)}]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    return "\n".join(lines).encode()


def _merges() -> bytes:
    wide = ",".join(f"k{number}: 1" for number in range(20_000))
    return f"schema: x\nb: &b {{{wide}}}\nl:\n".encode() + b" - {<<: *b}\n" * 5_000


def _merges_of_lists() -> bytes:
    wide = ",".join(f"k{number}: 1" for number in range(20_000))
    return f"schema: x\nb: &b {{{wide}}}\nc: &c [{','.join(['*b'] * 1000)}]\n".encode() + b"d: {<<: *c}\n"


def _different(count: int, line: Callable[[int], bytes]) -> bytes:
    return b"".join(line(number) for number in range(count))


def _channel(number: int) -> bytes:
    return blob("olm.channel", package="p", name=f"c{number}", entries=[{"name": "b"}])


def _package(number: int) -> bytes:
    return blob("olm.package", name=f"p{number}", defaultChannel="c")


def _links() -> bytes:
    links = b"".join(header(f"configs/l{number}", kind=tarfile.SYMTYPE, target="c") for number in range(2_000))
    return gzipped(tar(member("configs/c", (blob("x"), 1_000)), [(links, 1)]))


def _ignores() -> bytes:
    files = b"".join(header(f"configs/{'a' * 60}{number}") for number in range(2_000))
    return gzipped(tar(member("configs/.indexignore", (b"a*b*c\n", 10_000)), [(files, 1)]))


def _wide_window() -> bytes:
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=27)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    parts = [compressor.compress(data) for data, times in member("other", (ZEROS, 16)) for _ in range(times)]
    return b"".join((*parts, compressor.flush()))


REFUSED = (
    Refused("1 GB of zeros", lambda: catalog((ZEROS, 64)), "a document is larger than"),
    Refused("1 GB of zeros, zstd", lambda: catalog((ZEROS, 64), pack=zstd), "a document is larger than"),
    Refused(
        "5 GB of zeros beside the catalog", lambda: gzipped(member("other", (ZEROS, 320))), "larger than what is read"
    ),
    Refused("zstd that wants 128 MB at once", _wide_window, "requires too much memory"),
    Refused("gzip of gzip", lambda: gzip.compress(catalog((_PACKAGE, 1))), "is not a complete tar archive"),
    Refused("gzip of a bomb", lambda: gzip.compress(gzipped([(ZEROS, 64)])), "is not a complete tar archive"),
    Refused("a million files", lambda: _entries(tarfile.REGTYPE), "more files than are read"),
    Refused("a million directories", lambda: _entries(tarfile.DIRTYPE), "more files than are read"),
    Refused("a name of 300 characters", lambda: gzipped(tar(member("configs/" + "n" * 300))), "a path too long"),
    Refused("a path of 5000 characters", lambda: gzipped(tar(member("configs" + "/n" * 2500))), "a path too long"),
    Refused("70 directories deep", lambda: gzipped(tar(member("configs" + "/n" * 70))), "directories deep"),
    Refused("a name that is no UTF-8", lambda: gzipped(tar(member("configs/\udcff"))), "a name that is not UTF-8"),
    Refused("JSON lists 100,000 deep", lambda: catalog((_A + b"[" * 100_000 + b"]" * 100_000 + b"}", 1)), "depth"),
    Refused("JSON objects 100,000 deep", lambda: catalog((b'{"schema":' * 100_000, 1)), "catalog.json: line 1"),
    Refused("15 million open brackets", lambda: catalog((_A, 1), (b"[" * MEGABYTE, 15)), "catalog.json: line 1"),
    Refused(
        "YAML lists 100,000 deep", lambda: catalog((b"schema: x\na: " + b"[" * 100_000, 1), name=_YAML), "deeper than"
    ),
    Refused(
        "YAML blocks 100,000 deep", lambda: catalog((b"schema: x\na:\n " + b"- " * 100_000, 1), name=_YAML), "deeper"
    ),
    Refused("a bomb of aliases", lambda: catalog((_aliases(), 1), name=_YAML), "when its aliases are expanded"),
    Refused("a bomb of merges", lambda: catalog((_merges(), 1), name=_YAML), "when its aliases are expanded"),
    Refused("a bomb of lists of merges", lambda: catalog((_merges_of_lists(), 1), name=_YAML), "are expanded"),
    Refused(
        "a document of 2 GB", lambda: catalog((_A + b'"', 1), (b"x" * (16 * MEGABYTE), 127)), "a document is larger"
    ),
    Refused(
        "YAML of one endless line", lambda: catalog((b"schema: ", 1), (b"x" * MEGABYTE, 900), name=_YAML), "larger than"
    ),
    Refused("YAML of endless lines", lambda: _yaml(b"schema: x\n", b"# comment\n", 900), "a document is larger than"),
    Refused("a blank of 1 GB", lambda: catalog((b" " * MEGABYTE, 1024), (_PACKAGE, 1)), "a document is larger than"),
    Refused("an icon of 20 MB", lambda: _json(_A + b'{"base64data":"', b"A", 20, b'"}}'), "a document is larger than"),
    Refused("10 million numbers", lambda: _json(_A + b"[", b"1,", 10, b"1]}"), "values"),
    Refused("10 million fractions", lambda: _json(_A + b"[", b"0.1,", 10, b"1]}"), "values"),
    Refused("millions of objects", lambda: _json(_A + b"[", b'{"":0},', 10, b"1]}"), "values"),
    Refused(
        "a million keys",
        lambda: catalog((_A + b"{", 1), (_different(1_000_000, lambda n: b'"%x":0,' % n) + b'"":0}}', 1)),
        "values",
    ),
    Refused("YAML of millions of values", lambda: _yaml(b"schema: x\na: [", b"a,", 10, b"a]\n"), "values"),
    Refused("YAML of millions of mappings", lambda: _yaml(b"schema: x\na: [", b"{},", 10, b"a]\n"), "values"),
    Refused("10 million documents", lambda: catalog((blob("x") * 100_000, 100)), "blobs"),
    Refused("20,000 packages", lambda: catalog((_different(20_000, _package), 1)), "more than 10,000 packages"),
    Refused("links that name a file over and over", _links, "more than 300,000 blobs"),
    Refused("an .indexignore of many patterns", _ignores, "files are too many for as many patterns"),
    Refused("NUL bytes", lambda: catalog((b'{"schema":"\0"}', 1)), "catalog.json: line 1"),
    Refused("NUL bytes in YAML", lambda: catalog((b"schema: \0\n", 1), name=_YAML), "catalog.yaml: line 1"),
    Refused("YAML that is no UTF-8", lambda: catalog((b"schema: \xff\xfe\n", 1), name=_YAML), "catalog.yaml: line 1"),
)

ODD_NAME = "a\nb\r\x1b[31m<script>\u202e\0" + "y" * 10_000


def _everything_twice() -> Iterator[bytes]:
    version = [{"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}}]
    bundle = blob("olm.bundle", package="p", name="b", image="registry.example.com/b:1", properties=version * 2)
    channel = blob("olm.channel", package="p", name="c0", entries=[{"name": "b"}, {"name": "b"}])
    yield from (_PACKAGE, channel, bundle) * 2


SERVED = (
    Served(
        "an .indexignore of very many stars",
        lambda: gzipped(
            tar(member("configs/.indexignore", (b"*a" * 60 + b"*b", 1)), member("configs/" + "a" * 240, (blob("x"), 1)))
        ),
        "all 1 blob",
    ),
    Served("100,000 tiny documents", lambda: catalog((blob("x"), 100_000)), "all 100000 blobs"),
    Served("everything twice", lambda: catalog((b"".join(_everything_twice()), 1)), "duplicate"),
    Served(
        "names of others", lambda: catalog((blob("olm.package", name=ODD_NAME, defaultChannel=ODD_NAME), 1)), "problem"
    ),
    Served("JSON that is no UTF-8", lambda: catalog((b'{"schema":"\xff\xfe"}', 1)), "all 1 blob"),
    Served(
        "a package with 50,000 channels",
        lambda: catalog((_PACKAGE, 1), (_different(50_000, _channel), 1)),
        "has more than 20,000 blobs",
    ),
    Served(
        "a package with very many channels",
        lambda: catalog(
            (_PACKAGE, 1),
            (_different(15_000, _channel), 1),
        ),
        "problem",
    ),
)
