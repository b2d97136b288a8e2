// The stand-in for Claude Code in the containers of tests.
package main

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/workspace/claude/claudetest"
)

func main() { os.Exit(claudetest.Main()) }
