module olm-suite.dev/devcluster/binaries/pause

go 1.24.0
