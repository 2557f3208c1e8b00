"""The work of `olm bundle scorecard`: operator-sdk's built-in tests of a bundle in this process, and others as pods on a cluster.

Configuration, selection, tests of bundles and output are pure. No controller imports it.
"""
