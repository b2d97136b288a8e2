package workspace

import "testing"

// StartEngine starts an engine that a test may kill.
func StartEngine(t *testing.T, settings string) *separateEngine { return startEngine(t, settings) }

// Host returns its address.
func (o *separateEngine) Host() string { return o.host() }

// Kill kills dockerd, like a crash.
func (o *separateEngine) Kill() { o.kill() }

// Start starts it again.
func (o *separateEngine) Start() { o.start() }

// ClaudeProgram builds the stand-in for Claude Code.
func ClaudeProgram() ([]byte, error) { return claudeProgram() }
