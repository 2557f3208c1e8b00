"""The inputs of the rendering of a chart for one BundleDeployment, and its state. Values only. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from olmkit.errors import OlmError
from olmkit.sources.spec_source import InputReference
from rukpak.render.install_options import InstallOptions


@dataclass(frozen=True)
class ChartInputs:
    """Everything that a rendering depends on, but the contents of Secrets and ConfigMaps, which their versions stand for."""

    deployment: str
    bundle: str
    """The name of the Bundle."""
    content: str
    """The digest of the chart."""
    options: InstallOptions
    is_upgrade: bool
    kube_version: str
    versions: tuple[tuple[InputReference, str | None], ...] = ()
    """The resourceVersion of each Secret and ConfigMap with values; None for one that does not exist."""
    api_versions: str = ""
    """The digest of the list of everything that the cluster serves; empty if the chart does not depend on it."""

    @property
    def place(self) -> str:
        """The name of what is rendered, whatever the rest of the inputs is: `<deployment>/<bundle>/<hash of the options>`."""
        return f"{self.deployment}/{self.bundle}/{hashlib.sha256(repr(self.options).encode()).hexdigest()[:16]}"

    @property
    def identity(self) -> str:
        """The digest of all inputs."""
        return hashlib.sha256(repr(self).encode()).hexdigest()


@dataclass(frozen=True)
class ChartState:
    """A chart that the BundleDeployment needs, and its rendering."""

    inputs: ChartInputs
    digest: str = ""
    """The digest of the last rendering, which may have been made with other inputs; empty if there is none."""
    is_current: bool = False
    """True if the last rendering was made with these inputs."""
    is_running: bool = False
    error: OlmError | None = None
    """The reason why the chart cannot be rendered with these inputs."""

    @property
    def is_due(self) -> bool:
        """True if a rendering has to begin."""
        return not (self.is_current or self.is_running or self.error is not None)
