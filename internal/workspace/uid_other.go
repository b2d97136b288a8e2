//go:build !linux

package workspace

import "os"

// ownerOf is not asked here: the engine is in a machine of its own, where every user of
// a container may use the folders that it was given.
func ownerOf(*os.Root) (uid int, ok bool) { return 0, false }

func mayWrite(string, int, int) (bool, error) { return true, nil }
