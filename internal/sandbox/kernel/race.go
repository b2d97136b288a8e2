//go:build race

package kernel

// mustReexec is true because the race detector does not work in a process that shares memory with
// another one.
const mustReexec = true
