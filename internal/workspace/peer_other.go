//go:build !linux

package workspace

// isImpostor cannot be told here: who listens is in another machine.
func isImpostor(int, int) bool { return false }
