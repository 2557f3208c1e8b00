"""Operator -> resolution -> BundleDeployment. Meets the others only through CRDs and catalogd's HTTP."""
