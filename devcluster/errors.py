"""The error of devcluster: a problem that the user can fix. Raised everywhere in this package, printed by the commands."""

import sys
from collections.abc import Callable


class DevclusterError(Exception):
    """The message has the cause and what to do, in sentences. It is printed without a traceback."""


def exit_status(action: Callable[[], object]) -> int:
    """Run what a command does: 0, or 1 with the message of a DevclusterError on standard error."""
    try:
        action()
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
