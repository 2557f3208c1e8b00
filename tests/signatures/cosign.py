"""Runs cosign: makes and imports keys, signs images on a registry, and verifies signatures. Asks no service but the registry."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.signing import PrivateKey

PASSWORD = "test"


@dataclass(frozen=True)
class Cosign:
    """cosign in a directory of its own. `is_v2`: version 2, whose flags differ."""

    program: Path
    directory: Path
    is_v2: bool = False

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in the directory, without the user's settings."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "COSIGN_PASSWORD": PASSWORD,
            "SIGSTORE_NO_CACHE": "true",
        }
        done = subprocess.run(
            [self.program, *arguments],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not check or done.returncode == 0, f"cosign {' '.join(arguments)}: {done.stderr}"
        return done

    def generate(self, name: str) -> str:
        """Make a key pair in NAME.key and NAME.pub; returns the public key."""
        self.run("generate-key-pair", "--output-key-prefix", name)
        return (self.directory / f"{name}.pub").read_text()

    def import_key(self, name: str, key: PrivateKey) -> str:
        """Import a key as NAME.key and NAME.pub; returns the public key."""
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (self.directory / f"{name}.pem").write_bytes(pem)
        self.run("import-key-pair", "--yes", "--key", f"{name}.pem", "--output-key-prefix", name)
        return (self.directory / f"{name}.pub").read_text()

    def sign(self, ref: str, key: str, *flags: str, classic: bool = False) -> None:
        """Sign an image by digest with NAME.key: a bundle, or the classic form, which version 2 always makes."""
        if self.is_v2:
            form = ["--tlog-upload=false"]
        else:
            form = ["--use-signing-config=false", "--tlog-upload=false"]
            form += ["--new-bundle-format=false"] if classic else []
        self.run("sign", "--yes", "--allow-http-registry", *form, "--key", f"{key}.key", *flags, ref)
