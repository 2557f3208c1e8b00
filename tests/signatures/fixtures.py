"""Writes tests/integration/olmkit/sources/signatures/cosign.json: what cosign 2 and cosign 3 put into a registry when they sign.

    go install github.com/sigstore/cosign/v2/cmd/cosign@v2.6.5
    python -m tests.signatures.fixtures ~/go/bin/cosign "$(python -m devcluster.optional_programs cosign)"

So that `make test` verifies signatures of cosign without cosign. The image, which is not part of the file, has the same digest
each time; keys and certificates are new each time, and only their public parts are written.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, rsa

from devcluster import programs
from tests import images
from tests.images import tar
from tests.registry_content import copied
from tests.servers.local_registry import LocalRegistry, run_registry
from tests.signatures.cosign import Cosign
from tests.signing import PrivateKey, TestAuthority

FILE = Path(__file__).parents[1] / "integration" / "olmkit" / "sources" / "signatures" / "cosign.json"
REPOSITORY = "quay.io/olm-suite/signed"
"""The name that the signatures of the classic form have."""
SUBJECT = "releases@olm-suite.example"
FOREVER = datetime(2126, 1, 1, tzinfo=UTC)
KEYS: dict[str, Callable[[], PrivateKey] | None] = {
    "the key that cosign makes": None,
    "ECDSA P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
}


def main() -> None:
    cosign_2, cosign_3 = (Path(each).resolve() for each in sys.argv[1:])
    root = Path(tempfile.mkdtemp())
    found = programs.find(print)
    assert found is not None
    cases: list[dict[str, Any]] = []
    with run_registry(root, found) as registry:
        for program, is_v2 in ((cosign_2, True), (cosign_3, False)):
            cosign = Cosign(program, Path(tempfile.mkdtemp()), is_v2)
            version = json.loads(cosign.run("version", "--json").stdout)["gitVersion"]
            cases += _cases(cosign, f"cosign {2 if is_v2 else 3}", registry)
            print(version)
    FILE.write_text(json.dumps({"repository": REPOSITORY, "cases": cases}, indent=1) + "\n")
    print(f"{FILE}: {len(cases)} cases, {FILE.stat().st_size} bytes")


def _cases(cosign: Cosign, title: str, registry: LocalRegistry) -> list[dict[str, Any]]:
    cases = []
    for number, (key, make) in enumerate(KEYS.items()):
        name = f"key{number}"
        public = cosign.generate(name) if make is None else cosign.import_key(name, make())
        for is_classic in (True,) if cosign.is_v2 else (True, False):
            repository = f"fixtures/{title.replace(' ', '')}/{name}/{is_classic}".lower()
            identity = ("--sign-container-identity", REPOSITORY) if is_classic else ()
            digest = _push(registry, repository)
            cosign.sign(f"{registry.address}/{repository}@{digest}", name, *identity, classic=is_classic)
            form = "classic" if is_classic else "bundle"
            content = copied(registry.address, repository, digest)
            cases.append({"title": f"{title}, {form}, {key}", "key": public, "digest": digest, **content})
    return [*cases, _by_certificate(cosign, title, registry)]


def _by_certificate(cosign: Cosign, title: str, registry: LocalRegistry) -> dict[str, Any]:
    authority = TestAuthority(end=FOREVER)
    leaf = authority.leaf(SUBJECT, end=FOREVER)
    cosign.import_key("leaf", leaf.key)
    (cosign.directory / "leaf.crt").write_text(leaf.pem)
    (cosign.directory / "chain.crt").write_text(authority.pem)
    repository = f"fixtures/{title.replace(' ', '')}/certificate".lower()
    digest = _push(registry, repository)
    flags = ("--certificate", "leaf.crt", "--certificate-chain", "chain.crt", "--sign-container-identity", REPOSITORY)
    cosign.sign(f"{registry.address}/{repository}@{digest}", "leaf", *flags, classic=True)
    content = copied(registry.address, repository, digest)
    return {"title": f"{title}, a certificate", "certificates": authority.pem, "digest": digest, **content}


def _push(registry: LocalRegistry, repository: str) -> str:
    """Push an image that is the same each time."""
    layer = tar({"configs/catalog.json": "{}"})
    return images.push(registry.address, repository, "v1", [layer], {}, compression="plain")


if __name__ == "__main__":
    main()
