package auth

import (
	"errors"
	"os"
)

// processTree is the process tree below the daemon.
type processTree struct {
	root        int
	includeSelf bool // connections of the daemon itself are treated as connections of a run
}

// process is an entry of the process table.
type process struct {
	parent  int
	started uint64 // in an arbitrary unit, counted from an arbitrary time
}

func newProcessTree(root int) processTree { return processTree{root: root} }

// IsDescendant reports whether another process started this one, directly or through its
// descendants. It returns false if the system does not show this.
func IsDescendant(pid int) bool {
	for range 10 {
		below, err := newProcessTree(pid).descendsFromRoot(os.Getpid())
		if !errors.Is(err, errMoved) {
			return err == nil && below
		}
	}
	return true
}

// maxDepth is the maximum number of parents that are followed up to the first process.
const maxDepth = 1000

var errMoved = errors.New("the process tree changed during the check")

// includes reports whether the daemon started a process, directly or through its descendants. It also
// returns true for a process that cannot be looked up or has ended, because the process may have
// passed the connection to another process.
func (t processTree) includes(id identity) bool {
	if id.pid == t.root {
		return false
	}
	if id.pid <= 0 {
		return true
	}
	for range 10 {
		below, err := t.descendsFromRoot(id.pid)
		if errors.Is(err, errMoved) {
			continue
		}
		return err != nil || below || !id.isAlive()
	}
	return true
}

// descendsFromRoot follows the parents of a process, one after the other. If a parent is younger
// than its child, the real parent has ended and another process has reused its pid.
func (t processTree) descendsFromRoot(pid int) (bool, error) {
	p, err := stat(pid)
	if err != nil {
		return false, err
	}
	for range maxDepth {
		switch p.parent {
		case t.root:
			return true, nil
		case 0, 1:
			return false, nil
		}
		up, err := stat(p.parent)
		if err != nil || up.started > p.started {
			return false, errMoved
		}
		p = up
	}
	return false, errMoved
}
