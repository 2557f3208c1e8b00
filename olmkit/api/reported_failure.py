"""The fields that status.failure of an Operator and of a BundleDeployment share. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from olmkit.api.failures import FailureReason
from olmkit.api.meta import Model

MAX_FAILURE_MESSAGE_BYTES = 1024
"""UTF-8 bytes of the message of a failure."""
MAX_INSTALL_MODES = 4
"""The install modes of OLM."""


class ReportedFailure(Model):
    """The reason why what spec asks for is not installed, or not healthy."""

    reason: FailureReason = Field(description="What has failed.")
    message: Annotated[str, Field(max_length=MAX_FAILURE_MESSAGE_BYTES)] = Field(description="The details.")
    install_modes: Annotated[list[str], Field(max_length=MAX_INSTALL_MODES)] | None = Field(
        default=None,
        description=(
            "The install modes that the bundle supports, if the reason is InvalidConfiguration because of the namespaces to"
            " watch."
        ),
    )
