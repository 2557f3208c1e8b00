"""Annotations of Secrets with logins, which say where a login may be sent. Pure.

Separate from the models, because jobs do not import pydantic.
"""

HOSTS_ANNOTATION = "olm.operatorframework.io/source-hosts"
"""The hosts, `host[:port]`, comma-separated, that the login in a Secret may be sent to. It is sent to no other."""
INSECURE_HOSTS_ANNOTATION = "olm.operatorframework.io/insecure-source-hosts"
"""Those of them that a user and a password may be sent to over plain HTTP or with insecureSkipVerify."""
