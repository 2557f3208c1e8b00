"""The error of devcluster: a problem that the user can fix. Raised everywhere in this package, printed by the commands."""


class DevclusterError(Exception):
    """The message says what to do, in one or more sentences. It is printed without a traceback."""
