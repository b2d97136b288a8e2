package workspace

import "testing"

// StartEngine starts an engine that a test may kill.
func StartEngine(t *testing.T, settings string) *ownEngine { return startEngine(t, settings) }

// Host returns its address.
func (o *ownEngine) Host() string { return o.host() }

// Kill kills dockerd, like a crash.
func (o *ownEngine) Kill() { o.kill() }

// Start starts it again.
func (o *ownEngine) Start() { o.start() }

// ClaudeProgram builds the stand-in for Claude Code.
func ClaudeProgram() ([]byte, error) { return claudeProgram() }
