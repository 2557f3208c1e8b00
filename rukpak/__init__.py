"""Bundle and BundleDeployment -> installed objects. Meets the others only through CRDs."""
