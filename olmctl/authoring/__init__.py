"""The work of the commands for authors: reads and checks the directory of a catalog as opm does, makes the blobs of a bundle,
draws upgrade graphs, and writes blobs as opm writes them.

No controller imports it. Commands are in olmctl.catalog and olmctl.bundle.
"""
