"""Images of bundles and catalogs, without a container engine: layers, images, their files on disk, and their push to a registry.

The same files have the same digest on every machine with the same zlib. Nothing of an image is executed.
"""
