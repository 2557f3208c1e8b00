"""Certificates of bundles that cert-manager issues: `make certmanager`."""
