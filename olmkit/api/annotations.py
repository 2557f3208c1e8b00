"""Annotations by which catalogd tells lists of objects what their columns cannot compute. Pure.

Written by catalogd, named by olmkit.api.crd. Apart from the models, because jobs do without pydantic.
"""

LATEST_VERSION_ANNOTATION = "catalogd.operatorframework.io/latest"
"""Of a Package: the version of its default channel's head."""
CHANNELS_ANNOTATION = "catalogd.operatorframework.io/channels"
"""Of a Package: the names of its channels, comma-separated."""
VERSIONS_ANNOTATION = "catalogd.operatorframework.io/versions"
"""Of a Package: the versions that an Operator can name in spec.version, the newest first, and how many there are beyond those."""
