"""Evaluates the rules in CEL of one component, each for each bundle once, and counts what that costs.

What a rule costs depends on the rule and on the properties alone (cel.rule_cost), so the same component ends in the same way on
every machine. The rules of each package have a share of their own, so that those of one package cannot keep those of another one
from being evaluated; those of what runs have one share together. Pure.
"""

from __future__ import annotations

from operator_controller.resolve.package.package_content import Bundle
from operator_controller.resolve.requirements import cel

MAX_PACKAGE_RULES_COST = 512 * 1024 * 1024
"""Bytes that the rules of one package may visit in one component, and those of all that runs together: about two seconds. A rule
that is evaluated for every bundle of the largest real catalogs visits less than half of it."""
MAX_RULES_COST = 4 * MAX_PACKAGE_RULES_COST
"""Bytes that the rules of all packages of one component may visit."""
WHAT_RUNS = ""
"""Stands for all that runs, as what requires a rule."""


class RulesTooCostly(Exception):
    """A rule is not evaluated, because a limit is reached. Raised and caught within operator_controller.resolve."""


class RuleEvaluations:
    """The evaluations of one component."""

    def __init__(self) -> None:
        self._left = MAX_RULES_COST
        self._left_of: dict[str, int] = {}
        self._known: dict[tuple[str, str, int], bool] = {}
        self._inputs: dict[tuple[str, int], tuple[Bundle, cel.RuleInput]] = {}

    def holds(self, rule: str, package: str, bundle: Bundle, dependant: str) -> bool:
        """Report whether the rule holds for a bundle of `package`. `dependant` requires it: a package, or WHAT_RUNS.

        Raises RulesTooCostly, from then on for every rule of this dependant that has not been evaluated.
        """
        key = rule, package, id(bundle)
        known = self._known.get(key)
        if known is None:
            given = self._input(package, bundle, dependant)
            self._use(cel.rule_cost(rule, given), dependant)
            known = self._known[key] = cel.rule_holds(rule, given)
        return known

    def is_used_up(self, dependant: str) -> bool:
        """Report whether no further rule of this dependant is evaluated."""
        return not self._left_for(dependant)

    def _left_for(self, dependant: str) -> int:
        left = self._left_of.get(dependant, MAX_PACKAGE_RULES_COST)
        return left if dependant == WHAT_RUNS else min(left, self._left)

    def _use(self, cost: int, dependant: str) -> None:
        left = self._left_for(dependant)
        self._left_of[dependant] = max(0, left - cost)
        if cost > left:
            raise RulesTooCostly
        if dependant != WHAT_RUNS:
            self._left -= cost

    def _input(self, package: str, bundle: Bundle, dependant: str) -> cel.RuleInput:
        """Measuring the properties of a bundle costs time, so nothing is measured for a dependant whose share is used up."""
        if self.is_used_up(dependant):
            raise RulesTooCostly
        found = self._inputs.get((package, id(bundle)))
        if found is None:  # the bundle is kept as well, so that no other one gets its id
            found = self._inputs[package, id(bundle)] = bundle, cel.rule_input(bundle.rule_properties(package))
        return found[1]
