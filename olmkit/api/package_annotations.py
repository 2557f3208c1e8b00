"""Annotations of Packages with values that the columns of `kubectl get` cannot compute. Pure.

Written by catalogd, shown by the columns of olmkit.api.crd. Separate from the models, because jobs do not import pydantic.
"""

LATEST_VERSION_ANNOTATION = "catalogd.operatorframework.io/latest"
"""On a Package: the version of the head of its default channel."""
CHANNELS_ANNOTATION = "catalogd.operatorframework.io/channels"
"""On a Package: the names of its channels, comma-separated."""
VERSIONS_ANNOTATION = "catalogd.operatorframework.io/versions"
"""On a Package: the versions that spec.version of an Operator can have, newest first, and the number of those not listed."""
