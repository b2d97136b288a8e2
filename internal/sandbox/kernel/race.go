//go:build race

package kernel

// reexec: the race detector keeps books on memory, which a process that shares it
// would upset.
const mustReexec = true
