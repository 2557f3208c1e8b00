"""The error of devcluster: a problem that the user can fix. Raised everywhere in this package, printed by the commands."""


class DevclusterError(Exception):
    """The message has the cause and what to do, in sentences. It is printed without a traceback."""
