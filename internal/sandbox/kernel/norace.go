//go:build !race

package kernel

const mustReexec = false
