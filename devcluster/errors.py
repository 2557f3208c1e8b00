"""The one error of devcluster: something a person must change, worded for them; raised everywhere here, printed by __main__."""


class DevclusterError(Exception):
    """The message is one or more whole sentences that say what to do; it is printed without a traceback."""
