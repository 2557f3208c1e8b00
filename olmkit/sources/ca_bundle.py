"""Whose certificates are believed: the system's authorities, and those in the files of a folder.

Read anew for each job, so that an authority that is replaced on disk counts from the next job on. Used by access.py.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from olmkit.errors import Blocked
from olmkit.sources.errors import SourceReason

CERTIFICATE_SUFFIXES = frozenset({".crt", ".pem"})


@dataclass(frozen=True)
class CABundle:
    """`authorities` is PEM text of certificates that are believed beside the system's."""

    authorities: str = ""

    @classmethod
    def load(cls, folder: Path | None) -> CABundle:
        """Read all *.crt and *.pem of a folder, not of those below it; None means the system's alone.

        Raises Blocked(InvalidConfiguration) naming the file and what is wrong with it.
        """
        if folder is None:
            return cls()
        try:
            # A ConfigMap's files are links into a folder of a hidden name: iterdir shows each once.
            files = sorted(each for each in folder.iterdir() if each.suffix in CERTIFICATE_SUFFIXES and each.is_file())
        except OSError as error:
            raise _bad(folder, (error.strerror or "it cannot be read").lower()) from error
        return cls("\n".join(_certificates(each) for each in files))

    def context(self, *, verified: bool = True) -> ssl.SSLContext:
        """For one client; without `verified` every certificate is taken. Reading the system's authorities takes 30 ms."""
        if verified:
            context = ssl.create_default_context()
            if self.authorities:
                context.load_verify_locations(cadata=self.authorities)
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["http/1.1"])
        return context


def _certificates(path: Path) -> str:
    """The certificates of a file as PEM; whatever stands between them is left out."""
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise _bad(path, (error.strerror or "it cannot be read").lower()) from error
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    blocks = [begin + part.partition(end)[0] + end for part in text.split(begin)[1:]]
    if not blocks:
        raise _bad(path, "it holds no certificate in PEM form")
    found = "\n".join(blocks)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
    except ssl.SSLError as error:
        raise _bad(path, "it holds something between BEGIN and END CERTIFICATE that is no certificate") from error
    return found


def _bad(path: Path, why: str) -> Blocked:
    return Blocked(SourceReason.INVALID_CONFIGURATION, f"certificate authorities of {path} cannot be read: {why}")
