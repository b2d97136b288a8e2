//go:build linux

// Command spawner runs package spawn in a small process.
package main

import (
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/bench/spawn"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "spawner:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 && os.Args[1] == spawn.RefuseFlag {
		if err := spawn.Refuse(); err != nil {
			return err
		}
	}
	return spawn.Serve(os.Stdin, os.Stdout)
}
