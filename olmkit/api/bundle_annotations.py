"""The annotations of a Bundle that describe it, as operator_controller sets them and rukpak records them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

ANNOTATION_PREFIX = "operators.operatorframework.io/"
PACKAGE_ANNOTATION = ANNOTATION_PREFIX + "package"
"""The annotation of a Bundle with its package. This annotation and the next five are set by the Operator in the template."""
BUNDLE_NAME_ANNOTATION = ANNOTATION_PREFIX + "bundle-name"
"""The name of the bundle in its catalog."""
VERSION_ANNOTATION = ANNOTATION_PREFIX + "bundle-version"
"""The version of the bundle."""
CATALOG_ANNOTATION = ANNOTATION_PREFIX + "catalog"
"""The Catalog that the bundle came from."""
CHANNEL_ANNOTATION = ANNOTATION_PREFIX + "channel"
"""The channel that the bundle was chosen from."""
PROPERTIES_ANNOTATION = ANNOTATION_PREFIX + "properties"
"""JSON array of the bundle's olm.gvk and dependency properties: {type, value}."""
RECORDED_ANNOTATIONS: Mapping[str, str] = {
    "name": BUNDLE_NAME_ANNOTATION,
    "version": VERSION_ANNOTATION,
    "package": PACKAGE_ANNOTATION,
    "catalog": CATALOG_ANNOTATION,
    "channel": CHANNEL_ANNOTATION,
    "properties": PROPERTIES_ANNOTATION,
}
"""Field of a BundleRecord -> annotation of the Bundle."""
