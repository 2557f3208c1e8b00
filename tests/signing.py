"""Signs images for tests as cosign does, with keys, authorities and logs of its own, and pushes the signatures to a registry.

Also makes what no signer makes: entries, certificates and payloads of attacks. tests/signatures proves with cosign itself that
these forms are those of cosign.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from tests.images import MANIFEST, digest_of, push_blob, push_manifest

SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
IN_TOTO = "application/vnd.in-toto+json"
SIGN_PREDICATE = "https://sigstore.dev/cosign/sign/v1"
INDEX = "application/vnd.oci.image.index.v1+json"
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def new_key() -> ec.EllipticCurvePrivateKey:
    """A key as `cosign generate-key-pair` makes it."""
    return ec.generate_private_key(ec.SECP256R1())


def public_pem(key: PrivateKey) -> str:
    """cosign.pub."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def public_der(key: PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def key_id(key: PrivateKey) -> str:
    return digest_of(public_der(key))


def sign(key: PrivateKey, data: bytes) -> bytes:
    match key:
        case ec.EllipticCurvePrivateKey():
            return key.sign(data, ec.ECDSA(SHA256()))
        case rsa.RSAPrivateKey():
            return key.sign(data, PKCS1v15(), SHA256())
        case ed25519.Ed25519PrivateKey():
            return key.sign(data)


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


# --- authorities and logs


@dataclass
class Leaf:
    """The certificate of a signer and its key."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)


def _utf8_string(text: str) -> bytes:
    data = text.encode()
    return bytes([0x0C, len(data)]) + data


class TestAuthority:
    """A certificate authority with an intermediate certificate, like that of Fulcio."""

    __test__ = False

    def __init__(self, name: str = "test", end: datetime | None = None, path_length: int | None = None) -> None:
        now = datetime.now(UTC)
        self.start, self.end = now - timedelta(days=1000), end or now + timedelta(days=1000)
        self.root_key, self.key = new_key(), new_key()
        self.root = self._authority(f"{name} root", self.root_key, f"{name} root", self.root_key)
        issued = (f"{name} intermediate", self.key, f"{name} root", self.root_key)
        self.intermediate = self._authority(*issued, path_length)

    @classmethod
    def below(cls, issuer: TestAuthority) -> TestAuthority:
        """An authority whose only certificate is issued by the intermediate one of another authority."""
        made = cls("below")
        made.root = issuer.intermediate
        made.intermediate = made._authority("below intermediate", made.key, "test intermediate", issuer.key)
        return made

    def _authority(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        issuer: str,
        issuer_key: ec.EllipticCurvePrivateKey,
        path_length: int | None = None,
    ) -> x509.Certificate:
        builder = self._builder(name, key, issuer, self.start, self.end)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        return builder.add_extension(usage, critical=True).sign(issuer_key, SHA256())

    @staticmethod
    def _builder(
        name: str, key: ec.EllipticCurvePrivateKey, issuer: str, start: datetime, end: datetime
    ) -> x509.CertificateBuilder:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
        )

    def leaf(
        self,
        subject: str,
        issuer: str = "",
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        usage: ObjectIdentifier = ExtendedKeyUsageOID.CODE_SIGNING,
        log: TestLog | None = None,
    ) -> Leaf:
        """A certificate for an email address or URI, with the timestamp of a log of certificates."""
        key, now = new_key(), datetime.now(UTC)
        begin, finish = start or now - timedelta(minutes=5), end or now + timedelta(minutes=5)
        builder = self._builder("", key, self.intermediate.subject.rdns[0].rfc4514_string()[3:], begin, finish)
        name = x509.UniformResourceIdentifier(subject) if "://" in subject else x509.RFC822Name(subject)
        builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        signs = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
        builder = builder.add_extension(signs, critical=True)
        if issuer:
            for oid, value in (("1.8", _utf8_string(issuer)), ("1.1", issuer.encode())):
                extension = x509.UnrecognizedExtension(ObjectIdentifier(f"1.3.6.1.4.1.57264.{oid}"), value)
                builder = builder.add_extension(extension, critical=False)
        certificate = builder.sign(self.key, SHA256())
        if log is not None:
            stamps = log.stamps(certificate, public_der(self.key))
            extension = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2"), stamps)
            builder = builder.add_extension(extension, critical=False)
            certificate = builder.sign(self.key, SHA256())
        return Leaf(key, certificate)

    @property
    def pem(self) -> str:
        """The root and the intermediate certificate."""
        return "".join(each.public_bytes(Encoding.PEM).decode() for each in (self.intermediate, self.root))

    def trusted_root(self, *logs: TestLog, **changes: Any) -> str:
        """trusted_root.json."""
        certificates = [
            {"rawBytes": base64_text(each.public_bytes(Encoding.DER))} for each in (self.intermediate, self.root)
        ]
        authority = {
            "subject": {"organization": "test", "commonName": "test"},
            "uri": "https://fulcio.example",
            "certChain": {"certificates": certificates},
            "validFor": {"start": f"{self.start:%Y-%m-%dT%H:%M:%SZ}"},
        }
        root = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [each.trusted(self.start) for each in logs],
            "certificateAuthorities": [authority],
            "ctlogs": [],
        }
        return json.dumps({**root, **changes})


class TestLog:
    """A transparency log like Rekor: it promises to include entries, and proves that it has."""

    __test__ = False

    def __init__(self) -> None:
        self.key = new_key()
        self.id = hashlib.sha256(public_der(self.key)).digest()

    def trusted(self, start: datetime) -> dict[str, Any]:
        return {
            "baseUrl": "https://rekor.example",
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": base64_text(public_der(self.key)),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": {"start": f"{start:%Y-%m-%dT%H:%M:%SZ}"},
            },
            "logId": {"keyId": base64_text(self.id)},
        }

    def promise(self, body: bytes, moment: datetime, index: int = 7) -> dict[str, Any]:
        """The entry as the annotation of the classic form has it."""
        payload = {
            "body": base64_text(body),
            "integratedTime": int(moment.timestamp()),
            "logIndex": index,
            "logID": self.id.hex(),
        }
        return {"SignedEntryTimestamp": base64_text(sign(self.key, compact(payload))), "Payload": payload}

    def stamps(self, certificate: x509.Certificate, issuer: bytes) -> bytes:
        """The value of the extension with one timestamp for a certificate that does not have it yet (RFC 6962)."""
        milliseconds = int(datetime.now(UTC).timestamp() * 1000).to_bytes(8, "big")
        body = certificate.tbs_certificate_bytes
        signed = b"\0\0" + milliseconds + b"\0\1" + hashlib.sha256(issuer).digest()
        signature = sign(self.key, signed + len(body).to_bytes(3, "big") + body + b"\0\0")
        stamp = b"\0" + self.id + milliseconds + b"\0\0" + b"\4\3" + len(signature).to_bytes(2, "big") + signature
        stamps = len(stamp).to_bytes(2, "big") + stamp
        value = len(stamps).to_bytes(2, "big") + stamps
        return (b"\4" if len(value) < 128 else b"\4\x81") + bytes([len(value)]) + value  # an OCTET STRING

    def proof(self, body: bytes, others: Sequence[bytes] = (b"one", b"two", b"three")) -> dict[str, Any]:
        """The proof that the entry is the last one of a log with three others."""
        leaves = [hashlib.sha256(b"\0" + each).digest() for each in (*others, body)]
        left = hashlib.sha256(b"\1" + leaves[0] + leaves[1]).digest()
        right = hashlib.sha256(b"\1" + leaves[2] + leaves[3]).digest()
        root = hashlib.sha256(b"\1" + left + right).digest()
        note = f"rekor.example - 1\n4\n{base64_text(root)}\n"
        signature = base64_text(self.id[:4] + sign(self.key, note.encode()))
        return {
            "logIndex": "3",
            "rootHash": base64_text(root),
            "treeSize": "4",
            "hashes": [base64_text(leaves[2]), base64_text(left)],
            "checkpoint": {"envelope": f"{note}\n— rekor.example {signature}\n"},
        }


def hashedrekord(payload: bytes, signature: bytes, certificate_pem: str) -> bytes:
    """The body of the entry of a classic signature."""
    return compact(
        {
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()}},
                "signature": {
                    "content": base64_text(signature),
                    "publicKey": {"content": base64_text(certificate_pem.encode())},
                },
            },
        }
    )


def dsse_entry(payload: bytes, signature: bytes, certificate_pem: str) -> bytes:
    """The body of the entry of a bundle."""
    return compact(
        {
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
                "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
                "signatures": [
                    {"signature": base64_text(signature), "verifier": base64_text(certificate_pem.encode())}
                ],
            },
        }
    )


# --- the classic form


def payload_of(repository: str, digest: str, kind: str = "cosign container image signature") -> bytes:
    identity, image = {"docker-reference": repository}, {"docker-manifest-digest": digest}
    return compact({"critical": {"identity": identity, "image": image, "type": kind}, "optional": None})


@dataclass
class ClassicSignature:
    """A layer of the tag `.sig`."""

    payload: bytes
    annotations: Mapping[str, str]


def classic(key: PrivateKey, payload: bytes, **annotations: str) -> ClassicSignature:
    """A signature by a key."""
    return ClassicSignature(
        payload, {"dev.cosignproject.cosign/signature": base64_text(sign(key, payload)), **annotations}
    )


def classic_by_certificate(
    leaf: Leaf,
    payload: bytes,
    log: TestLog | None = None,
    moment: datetime | None = None,
    entry: Mapping[str, Any] | None = None,
) -> ClassicSignature:
    """A signature by a certificate, with the entry of a log."""
    signature = sign(leaf.key, payload)
    if log is not None:
        body = hashedrekord(payload, signature, leaf.pem)
        entry = log.promise(body, moment or datetime.now(UTC))
    annotations = {
        "dev.cosignproject.cosign/signature": base64_text(signature),
        "dev.sigstore.cosign/certificate": leaf.pem,
        **({"dev.sigstore.cosign/bundle": json.dumps(entry)} if entry is not None else {}),
    }
    return ClassicSignature(payload, annotations)


def push_classic(registry: str, repository: str, digest: str, *signatures: ClassicSignature) -> None:
    """Push them under the tag of cosign, instead of what is there."""
    layers = [
        {
            **push_blob(registry, repository, each.payload, SIMPLE_SIGNING),
            "annotations": dict(each.annotations),
        }
        for each in signatures
    ]
    config = push_blob(registry, repository, b"{}", "application/vnd.oci.image.config.v1+json")
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST["oci"], "config": config, "layers": layers}
    push_manifest(registry, repository, f"{digest.replace(':', '-')}.sig", manifest, MANIFEST["oci"])


# --- bundles


def statement_of(digest: str, predicate: str = SIGN_PREDICATE) -> bytes:
    algorithm, _, value = digest.partition(":")
    subject = {"digest": {algorithm: value}, "annotations": {}}
    document = {"_type": "https://in-toto.io/Statement/v1", "subject": [subject], "predicateType": predicate}
    return compact({**document, "predicate": {}})


def encoded(payload: bytes) -> bytes:
    """The bytes that the signature of an envelope covers."""
    return b"DSSEv1 %d %s %d %s" % (len(IN_TOTO), IN_TOTO.encode(), len(payload), payload)


def bundle_by_key(key: PrivateKey, payload: bytes) -> dict[str, Any]:
    hint = base64_text(hashlib.sha256(public_der(key)).digest())
    return _bundle({"publicKey": {"hint": hint}}, payload, sign(key, encoded(payload)))


def bundle_by_certificate(
    leaf: Leaf, payload: bytes, log: TestLog | None = None, moment: datetime | None = None
) -> dict[str, Any]:
    """A bundle by a certificate, with a promise and a proof of a log."""
    signature = sign(leaf.key, encoded(payload))
    material: dict[str, Any] = {"certificate": {"rawBytes": base64_text(leaf.der)}}
    if log is not None:
        body = dsse_entry(payload, signature, leaf.pem)
        promise = log.promise(body, moment or datetime.now(UTC))
        entry = {
            "logIndex": str(promise["Payload"]["logIndex"]),
            "logId": {"keyId": base64_text(log.id)},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(promise["Payload"]["integratedTime"]),
            "inclusionPromise": {"signedEntryTimestamp": promise["SignedEntryTimestamp"]},
            "inclusionProof": log.proof(body),
            "canonicalizedBody": base64_text(body),
        }
        material["tlogEntries"] = [entry]
    return _bundle(material, payload, signature)


def _bundle(material: Mapping[str, Any], payload: bytes, signature: bytes) -> dict[str, Any]:
    envelope = {
        "payload": base64_text(payload),
        "payloadType": IN_TOTO,
        "signatures": [{"sig": base64_text(signature)}],
    }
    return {"mediaType": BUNDLE, "verificationMaterial": dict(material), "dsseEnvelope": envelope}


@dataclass
class Referrers:
    """The referrers of an image, in the tag that clients write for registries without the API."""

    registry: str
    repository: str
    digest: str
    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, bundle: Any, subject: str = "") -> None:
        """Push a bundle and list it; `subject` is the digest that its manifest names."""
        data = bundle if isinstance(bundle, bytes) else compact(bundle)
        config = push_blob(self.registry, self.repository, b"{}", "application/vnd.oci.empty.v1+json")
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST["oci"],
            "artifactType": BUNDLE,
            "config": config,
            "layers": [push_blob(self.registry, self.repository, data, BUNDLE)],
            "subject": {"mediaType": MANIFEST["oci"], "digest": subject or self.digest, "size": 1},
        }
        body = compact(manifest)
        found = push_manifest(self.registry, self.repository, digest_of(body), body, MANIFEST["oci"])
        entry = {"mediaType": MANIFEST["oci"], "digest": found, "size": len(body), "artifactType": BUNDLE}
        self.entries.append(entry)
        self.push()

    def push(self) -> None:
        """Push the list."""
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": self.entries}
        push_manifest(self.registry, self.repository, self.digest.replace(":", "-"), index, INDEX)
