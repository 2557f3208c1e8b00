"""The files in which a generated bundle differs from that of operator-sdk on purpose, each with its reason.

docs/decisions/0082-a-generated-bundle-is-upstreams.md has all rules; here are those that the given inputs show.
"""

from __future__ import annotations

CSV = "bundle/manifests/lamp-operator.clusterserviceversion.yaml"
NOT_IN_INPUT_DIRECTORY = (
    "--overwrite=false looks in the output, where upstream looks in --input-dir and overwrites the file"
)

INTENDED = {
    "17-overwrite-false": {
        "bundle.Dockerfile": NOT_IN_INPUT_DIRECTORY,
        "bundle/metadata/annotations.yaml": NOT_IN_INPUT_DIRECTORY,
    },
    "21-base-with-more-fields": {CSV: "relatedImages of the base are kept, where upstream loses them"},
}
"""Input -> file -> why it differs."""
