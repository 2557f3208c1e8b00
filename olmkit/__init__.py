"""The code that the three controllers share: API models, the Kubernetes client, informers, the queue, sources and formats.

Never imports them.
"""
