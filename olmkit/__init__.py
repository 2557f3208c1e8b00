"""What the three controllers share: API models, the Kubernetes client, informers, the queue, sources and formats.

Called by catalogd, rukpak and operator_controller; never imports them.
"""
