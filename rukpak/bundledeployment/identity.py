"""Chooses the identity under which a request about a BundleDeployment is sent: this is the only place that does.

    objects of the bundle: their apply, dry runs, reads before a write, take-over, certificates,
        release and deletion                                  the account of spec.serviceAccount, if there is one
    a Namespace that rukpak creates or has created            the same
    the label of a member on any other Namespace              rukpak itself
    the BundleDeployment, its Bundles, its status, Events     rukpak itself
    watches, the inventory, and what is read to decide        rukpak itself

The label of a member is bookkeeping: with an account rukpak changes nothing else of a Namespace that it did not create, so that
an account needs no permission to change its Namespace. Never sends a request.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.runtime.client import Client
from rukpak.bundledeployment.world import NAMESPACE, World
from rukpak.format.objects import ObjectKey


@dataclass(frozen=True)
class Identities:
    """Views of one client. `own` sends requests as rukpak itself."""

    own: Client

    def of(self, world: World) -> Client:
        """The client for the objects of a BundleDeployment."""
        account = world.account
        return self.own.acting_as(account.headers()) if account is not None else self.own

    def of_object(self, world: World, key: ObjectKey) -> Client:
        """The client for an object, which may be a Namespace that others have created."""
        return self.own if key[:2] == NAMESPACE and world.only_joins(key.name) else self.of(world)
