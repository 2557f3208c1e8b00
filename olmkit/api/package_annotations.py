"""Annotations of Packages with values that the columns of `kubectl get` cannot compute. Pure.

Separate from the models, because jobs do not import pydantic.
"""

LATEST_VERSION_ANNOTATION = "catalogd.operatorframework.io/latest"
"""The version of the head of the Package's default channel."""
CHANNELS_ANNOTATION = "catalogd.operatorframework.io/channels"
"""The names of the Package's channels, comma-separated."""
VERSIONS_ANNOTATION = "catalogd.operatorframework.io/versions"
"""The versions of the Package that spec.version of an Operator can have, newest first, and the number of those not listed."""
