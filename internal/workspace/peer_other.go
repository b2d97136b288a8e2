//go:build !linux

package workspace

// imposter cannot be told here: who listens is in another machine.
func imposter(int, int) bool { return false }
