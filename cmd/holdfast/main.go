// Command holdfast runs agents that remember, ask first and stay inside.
package main

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/cli"
	_ "github.com/holdfast-dev/holdfast/internal/confine/first" // runs sandbox exec
	_ "github.com/holdfast-dev/holdfast/internal/early"         // answers version
)

func main() { os.Exit(cli.Main()) }
