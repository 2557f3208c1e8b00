"""Questions about the operators of a cluster: functions from a Session to a value, for `olm` and for the console.

A question prints nothing, and changes nothing on the cluster. What it could not find out stands in its value as a sentence.
"""
