// Command holdfast runs agents with durable sessions, permissions and a sandbox.
package main

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/cli"
	_ "github.com/holdfast-dev/holdfast/internal/confine/first"           // runs sandbox exec
	_ "github.com/holdfast-dev/holdfast/internal/early"                   // answers version
	_ "github.com/holdfast-dev/holdfast/internal/supervisor/first"        // runs supervise
	_ "github.com/holdfast-dev/holdfast/internal/supervisor/reaper/first" // runs supervise child
)

func main() { os.Exit(cli.Main()) }
