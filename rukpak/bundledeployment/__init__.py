"""BundleDeployment -> the objects of its bundle, installed and kept so."""
