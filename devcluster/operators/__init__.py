"""Operators that are real pods: programs, container images, and bundles in two versions.

`greeter` reconciles a custom resource, `reservations` validates, mutates and converts by webhooks, `library` serves an aggregated
API. `crashing` and `unpullable` never become ready. Never shipped.
"""
