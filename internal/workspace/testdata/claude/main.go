// The stand-in for Claude Code in test containers.
package main

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/workspace/claude/claudetest"
)

func main() { os.Exit(claudetest.Main()) }
