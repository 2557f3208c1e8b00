"""The known schemas of blobs, and the property types that several modules use.

Imported by olmkit.fbc, catalogd and operator_controller. Processes that read no blob import this module in place of
olmkit.fbc.catalog, whose imports they do not need. Pure data.
"""

PACKAGE, CHANNEL, BUNDLE, DEPRECATIONS = "olm.package", "olm.channel", "olm.bundle", "olm.deprecations"
BUNDLE_OBJECT = "olm.bundle.object"
GVK, GVK_REQUIRED, PACKAGE_REQUIRED = "olm.gvk", "olm.gvk.required", "olm.package.required"
CONSTRAINT = "olm.constraint"
DEPRECATED = "olm.deprecated"
