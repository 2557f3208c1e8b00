"""Forms of the console: from the schemas of kinds, from their publishers' descriptors, and for Operators and Catalogs. Pure.

A form is a value. Reading from a cluster and rendering templates happen elsewhere.
"""
