"""Which bundle images rukpak refuses whatever the cluster is like: learnt from the BundleDeployments that asked for them.

Kept by reconciler.py, which learns of each change of a BundleDeployment, for judge.py. So an image that was refused once is not
unpacked again for the next Operator, or for the same one after it was deleted. A restart forgets what no BundleDeployment says.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from olmkit.api.bundledeployments import BundleDeployment, ConditionType
from olmkit.api.bundles import digest_of_reference
from olmkit.api.conditions import is_condition_true
from olmkit.runtime.informer import Change

MAX_REJECTED_IMAGES = 1000


class RejectedImages:
    """Messages by digest."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, str] = OrderedDict()

    def learn(self, change: Change) -> None:
        """From the status of a BundleDeployment: its image is refused, or is not any more."""
        if change.new is None:
            return
        try:
            deployment = BundleDeployment.load(change.new)
        except ValueError:
            return  # an older schema let it in: an informer, which calls this, would end the process by an error
        status, source = deployment.status, deployment.spec.template.spec.source
        if status.refused is not None:
            digest = digest_of_reference(status.refused.image)
            self._messages[digest] = status.refused.message
            self._messages.move_to_end(digest)
            while len(self._messages) > MAX_REJECTED_IMAGES:
                self._messages.popitem(last=False)
        elif status.observed_generation == deployment.metadata.generation and is_condition_true(
            status.conditions, ConditionType.HAS_VALID_BUNDLE
        ):
            self._messages.pop(digest_of_reference(source.image.ref if source.image else ""), None)

    def snapshot(self) -> Mapping[str, str]:
        """Message by digest, as of now."""
        return dict(self._messages)
