package workspace

import "testing"

// StartEngine starts an engine that a test may kill.
func StartEngine(t *testing.T, settings string) *ownEngine { return startEngine(t, settings) }

// Host is where it answers.
func (o *ownEngine) Host() string { return o.host() }

// Kill ends dockerd as a crash does.
func (o *ownEngine) Kill() { o.kill() }

// Start starts it again.
func (o *ownEngine) Start() { o.start() }

// ClaudeProgram is the stand-in for Claude Code.
func ClaudeProgram() ([]byte, error) { return claudeProgram() }
