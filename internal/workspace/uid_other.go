//go:build !linux

package workspace

import "os"

// ownerOf is unused on this system: the engine runs in a virtual machine, where every user of a container may use
// the shared folders.
func ownerOf(*os.Root) (uid int, ok bool) { return 0, false }

func mayWrite(string, int, int) (bool, error) { return true, nil }
