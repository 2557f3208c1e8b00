package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

// runRegistry serves images from a directory: without the storage of clouds, whose clients would take most of the build.
func runRegistry() {
	if err := registry.RootCmd.Execute(); err != nil {
		os.Exit(1)
	}
}
