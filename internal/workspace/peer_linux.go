package workspace

import (
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/supervisor/reaper"
)

// isImpostor reports whether who listens at a container's socket is not its supervisor: a
// process deeper in the tree below the container's first one. Where the kernel does not
// keep agents from the folder of the socket, one could have put its own there. Both are
// numbers as this process counts; one that cannot be seen, or that counts otherwise, is
// not judged.
func isImpostor(peer, first int) bool {
	if peer <= 0 || first <= 0 || peer == first {
		return false
	}
	at := reaper.Parent(peer)
	if at == first {
		return false
	}
	if at < 0 && reaper.Parent(first) >= 0 && syscall.Kill(peer, 0) == syscall.ESRCH {
		return true // who listened has ended, and left the socket to another: no supervisor does
	}
	for ; at > 1; at = reaper.Parent(at) {
		if at == first {
			return true
		}
	}
	return false
}
