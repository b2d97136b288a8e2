//go:build !linux

package reaper

import "os"

// Main exits: reapers exist only on Linux.
func Main() { os.Exit(126) }
