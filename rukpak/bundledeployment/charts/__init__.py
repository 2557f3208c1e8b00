"""The charts of BundleDeployments: what they are rendered with, and the renderings that this process has."""
