"""The schemas of blobs that are known, and the property types that matter outside of what reads them. Pure.

Apart from olmkit.fbc.catalog, which has them too: processes that read no blob do without what that imports.
"""

PACKAGE, CHANNEL, BUNDLE, DEPRECATIONS = "olm.package", "olm.channel", "olm.bundle", "olm.deprecations"
BUNDLE_OBJECT = "olm.bundle.object"
GVK, GVK_REQUIRED, PACKAGE_REQUIRED = "olm.gvk", "olm.gvk.required", "olm.package.required"
CONSTRAINT = "olm.constraint"
