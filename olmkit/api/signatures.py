"""Signatures of images: the authorities of which one has to have signed an image, and who signed it. Pure.

Fields of Catalogs, Bundles and templates of BundleDeployments, and of the policy of a Catalog for the images of its bundles.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from olmkit.api.content import ConfigMapReference, SecretReference
from olmkit.api.meta import Model

MAX_AUTHORITIES = 4
"""Authorities of an image. The records of installed revisions contain them."""
MAX_IDENTITIES = 16


def _rules(*rules: tuple[str, str]) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in rules]}


def _exactly_one(*names: str) -> tuple[str, str]:
    given = ", ".join(f"has(self.{name})" for name in names)
    return f"[{given}].filter(given, given).size() == 1", f"exactly one of {', '.join(names)} must be set"


class KeyAuthority(Model):
    """Public keys: exactly one of the three fields."""

    model_config = ConfigDict(json_schema_extra=_rules(_exactly_one("data", "secret", "configMap")))

    data: Annotated[str, Field(min_length=1, max_length=4096)] | None = Field(
        default=None, description="The public key in PEM, as in cosign.pub. One of several suffices."
    )
    secret: SecretReference | None = Field(
        default=None,
        description="A Secret in the suite's namespace whose keys *.pub are public keys, as cosign generate-key-pair makes it.",
    )
    config_map: ConfigMapReference | None = Field(
        default=None, description="A ConfigMap in the suite's namespace whose keys *.pub are public keys."
    )


class TrustRoot(Model):
    """The roots of certificates: exactly one of the two fields."""

    model_config = ConfigDict(json_schema_extra=_rules(_exactly_one("configMap", "certificates")))

    config_map: ConfigMapReference | None = Field(
        default=None,
        description=(
            "A ConfigMap in the suite's namespace whose key trusted_root.json is a trusted root of Sigstore: authorities and"
            " logs."
        ),
    )
    certificates: Annotated[str, Field(min_length=1, max_length=8192)] | None = Field(
        default=None, description="The root of an own authority, and its intermediate certificates, in PEM."
    )


class SignerIdentity(Model):
    """The identity of a signer: exactly one of subject and subjectRegExp, and the issuer."""

    model_config = ConfigDict(json_schema_extra=_rules(_exactly_one("subject", "subjectRegExp")))

    issuer: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None,
        description=(
            "The issuer of the token that the certificate was made for, such as https://accounts.google.com. Optional with"
            " trustRoot.certificates."
        ),
    )
    subject: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="The email address or URI of the certificate."
    )
    subject_reg_exp: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="A regular expression (RE2) that the whole email address or URI must match."
    )


class KeylessAuthority(Model):
    """Certificates for identities, as keyless signing uses them."""

    model_config = ConfigDict(
        json_schema_extra=_rules(
            (
                "!has(self.trustRoot.certificates) || (has(self.log) && self.log == 'Ignored')",
                "log must be Ignored with trustRoot.certificates, which name no log",
            ),
            (
                "has(self.trustRoot.certificates) || self.identities.all(each, has(each.issuer))",
                "each identity needs an issuer with trustRoot.configMap: other issuers could give the same subject",
            ),
        )
    )

    trust_root: TrustRoot = Field(description="The roots of the certificates.")
    identities: Annotated[list[SignerIdentity], Field(min_length=1, max_length=MAX_IDENTITIES)] = Field(
        description="Who may sign: one of these identities."
    )
    log: Literal["Required", "Ignored"] | None = Field(
        default=None,
        description=(
            "Required: a transparency log of the trusted root must have the signature, and its time is that of the signature."
            " Ignored: the certificate must be valid at the time of the verification. Default: Required."
        ),
    )


class Authority(Model):
    """An authority: exactly one of key and keyless."""

    model_config = ConfigDict(json_schema_extra=_rules(_exactly_one("key", "keyless")))

    key: KeyAuthority | None = Field(default=None, description="Public keys.")
    keyless: KeylessAuthority | None = Field(default=None, description="Certificates for identities.")


class Verification(Model):
    """The authorities of which one has to have signed an image."""

    authorities: Annotated[list[Authority], Field(min_length=1, max_length=MAX_AUTHORITIES)] = Field(
        description="The image needs a valid signature of one of these authorities, made with cosign."
    )


VERIFY_DESCRIPTION = (
    "Who must have signed the image. Its digest is verified before anything of it is unpacked; an image without a valid signature"
    " is refused. Default: signatures are not read."
)


class SignedBy(Model):
    """The signer of an image that was verified: a key, or the subject and issuer of a certificate."""

    key: str | None = Field(
        default=None, description="The public key: sha256:<hex> of its SubjectPublicKeyInfo in DER."
    )
    subject: str | None = Field(default=None, description="The email address or URI of the certificate.")
    issuer: str | None = Field(default=None, description="The issuer that the certificate names.")


SIGNED_BY_DESCRIPTION = "Who signed the image, if its signatures were verified when it was read for this object."
