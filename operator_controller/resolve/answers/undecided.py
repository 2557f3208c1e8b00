"""The message for a component of which no solution is proved to be the best, because a limit of the solver was reached.

Says what is not proved, for whom nothing changes, and how a person can leave fewer choices. Pure.
"""

from __future__ import annotations

from operator_controller.resolve.solver.optimum import Level

_NOT_PROVED = {
    Level.SATISFIED: "whether {who} can be installed or upgraded together with all others",
    Level.KEPT: "which installed packages stay",
    Level.ASKED_VERSIONS: "which versions are the best for {who}",
    Level.FEWEST: "which are the fewest packages that {who} requires",
    Level.OTHER_VERSIONS: "which versions are the best for the packages that {who} requires",
}
_FEWER_REQUESTED = "set spec.version or spec.channel {of} to leave fewer choices"
_FEWER_REQUIRED = "apply Operators with spec.version for some of these packages to leave fewer choices"


def undecided_message(level: Level, operators: int) -> str:
    """The message. `level` is the one whose limit was reached, `operators` the number of those that are resolved together."""
    who = "this Operator" if operators == 1 else f"each of the {operators:,} Operators that affect each other"
    of = "of this Operator" if operators == 1 else "of some of them"
    hint = _FEWER_REQUIRED if level in (Level.FEWEST, Level.OTHER_VERSIONS) else _FEWER_REQUESTED
    changes = "nothing changes" if operators == 1 else "nothing changes for any of them"
    proved = _NOT_PROVED[level].format(who=who)
    return f"the solver reached its limit before it had proved {proved}: {changes}; {hint.format(of=of)}"
