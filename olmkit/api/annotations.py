"""Annotations by which catalogd tells lists of objects what their columns cannot compute. Pure.

Written by catalogd, named by olmkit.api.crd. Apart from the models, because jobs do without pydantic.
"""

LATEST = "catalogd.operatorframework.io/latest"
"""Of a Package: the version of its default channel's head."""
CHANNELS = "catalogd.operatorframework.io/channels"
"""Of a Package: the names of its channels, comma-separated."""
VERSIONS = "catalogd.operatorframework.io/versions"
"""Of a Package: the versions that an Operator can name in spec.version, the newest first, and how many there are beyond those."""
