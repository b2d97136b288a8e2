//go:build race

package kernel

// mustReexec is true because the race detector tracks memory accesses, which fails in a process that shares
// memory.
const mustReexec = true
