"""The bundle images that rukpak rejects on any cluster, as the BundleDeployments that request them report it.

reconciler.py keeps them, and decide.py reads them in the World. So an image is not unpacked again for another Operator, or for
the same Operator after it was created again. A restart forgets the images that no BundleDeployment requests.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from olmkit.api.bundledeployments import BundleDeployment, ConditionType
from olmkit.api.conditions import is_condition_true
from olmkit.api.names import digest_of_reference
from olmkit.runtime.informer import Change

MAX_REJECTED_IMAGES = 1000


class RejectedImages:
    """The messages of the rejections by image digest. The oldest are dropped first."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, str] = OrderedDict()

    def record(self, change: Change) -> None:
        """Record whether the status of a BundleDeployment reports that its image is rejected."""
        if change.new is None:
            return
        try:
            deployment = BundleDeployment.load(change.new)
        except ValueError:
            return  # admitted by an older schema; an error here would end the informer, and with it the process
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
        """A copy of the messages by digest."""
        return dict(self._messages)
