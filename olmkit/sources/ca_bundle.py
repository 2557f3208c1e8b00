"""The certificate authorities that sources trust: those of the system, and those in the files of a directory (--pull-cas-dir).

Read for each job, so that a file that is replaced takes effect with the next job.
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
    """`authorities` is PEM text of certificates that are trusted in addition to the system's."""

    authorities: str = ""

    @classmethod
    def load(cls, directory: Path | None) -> CABundle:
        """Read all *.crt and *.pem of a directory, not of its subdirectories; with None only the system's authorities are
        trusted.

        Raises Blocked(InvalidConfiguration), which names the file and the error.
        """
        if directory is None:
            return cls()
        try:
            # A ConfigMap's files are links into a directory of a hidden name: iterdir shows each once.
            files = sorted(
                each for each in directory.iterdir() if each.suffix in CERTIFICATE_SUFFIXES and each.is_file()
            )
        except OSError as error:
            raise _invalid(directory, (error.strerror or "it cannot be read").lower()) from error
        return cls("\n".join(_certificates(each) for each in files))

    def context(self, *, verified: bool = True) -> ssl.SSLContext:
        """The context of a client; without `verified` it accepts every certificate. Loading the system's takes 30 ms."""
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
    """The certificates of a file as PEM, without any other text of it."""
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise _invalid(path, (error.strerror or "it cannot be read").lower()) from error
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    blocks = [begin + part.partition(end)[0] + end for part in text.split(begin)[1:]]
    if not blocks:
        raise _invalid(path, "it does not contain a PEM certificate")
    found = "\n".join(blocks)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
    except ssl.SSLError as error:
        raise _invalid(path, "the text between BEGIN and END CERTIFICATE is not a certificate") from error
    return found


def _invalid(path: Path, why: str) -> Blocked:
    words = f"certificate authorities of {path} cannot be read: {why}"
    return Blocked(SourceReason.INVALID_CONFIGURATION, words, [str(path)])
