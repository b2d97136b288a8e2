package workspace

import (
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/supervisor/reaper"
)

// isImpostor reports whether the process that listens on a container's socket is not its supervisor
// but a process further down in the container's process tree. If the kernel does not keep agents
// out of the socket's folder, an agent could have created its own socket there. Both numbers are
// process ids as this process sees them. It returns false for processes that it cannot see.
func isImpostor(peer, first int) bool {
	if peer <= 0 || first <= 0 || peer == first {
		return false
	}
	at := reaper.Parent(peer)
	if at == first {
		return false
	}
	if at < 0 && reaper.Parent(first) >= 0 && syscall.Kill(peer, 0) == syscall.ESRCH {
		return true // the listener ended and left the socket to another process, which a supervisor never does
	}
	for ; at > 1; at = reaper.Parent(at) {
		if at == first {
			return true
		}
	}
	return false
}
