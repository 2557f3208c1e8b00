"""The command line `olm`: work with catalogs and bundles without a cluster. Imports of the controllers only what is pure."""
