"""The commands of `olm suite`: the suite itself on a cluster. Each module that is named as a command contains that command."""
