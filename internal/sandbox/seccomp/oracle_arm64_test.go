//go:build linux

package seccomp

func oracleKnown(nr uint32) bool { return nr <= 243 || nr >= 260 && nr <= 294 || nr >= 424 }

var archNever, archQuiet, archAbsent []uint32

func archShape(uint32) (shape string, mode, flags int) { return "", 0, 0 }

// foreignCall does nothing: many of these processors have no 32-bit interface.
func foreignCall() int64 { return -38 }

var archCalls []realCall
