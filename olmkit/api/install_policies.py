"""Values of the policies of an installation that code depends on. The fields are in olmkit.api.install_settings.

rukpak's rendering and the commands that need no cluster import them without the models of the API. Pure.
"""

from __future__ import annotations

from typing import Final

MUST_EXIST: Final = "MustExist"
"""The namespacePolicy for a namespace that somebody else creates, and that is not changed."""
STRICT: Final = "Strict"
"""The installModePolicy with which a bundle that does not support all namespaces needs watchNamespaces."""
ON_FAILURE: Final = "OnFailure"
"""The rollback policy that brings the last revision back that had succeeded."""
