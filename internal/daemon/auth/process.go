package auth

import (
	"errors"
	"os"
)

// processTree is the daemon among the processes.
type processTree struct {
	root   int
	inside bool // what the daemon itself connects to counts as a run's
}

// process is one entry of the system's table.
type process struct {
	parent  int
	started uint64 // in some unit, since some moment
}

func processes(root int) processTree { return processTree{root: root} }

// IsDescendant reports whether this process was started by another one, or by what that one
// started. Where the system does not tell, it was not.
func IsDescendant(pid int) bool {
	for range 10 {
		below, err := processes(pid).climb(os.Getpid())
		if !errors.Is(err, errMoved) {
			return err == nil && below
		}
	}
	return true
}

// maxDepth bounds a walk to the first process.
const maxDepth = 1000

var errMoved = errors.New("the process tree changed during the check")

// below reports whether a process was started by the daemon or by what it started.
// Who cannot be looked up, or is gone by then, is taken to be below: it may have
// handed the connection on.
func (t processTree) below(id identity) bool {
	if id.pid == t.root {
		return false
	}
	if id.pid <= 0 {
		return true
	}
	for range 10 {
		below, err := t.climb(id.pid)
		if errors.Is(err, errMoved) {
			continue
		}
		return err != nil || below || !id.lives()
	}
	return true
}

// climb goes from parent to parent. A process that is younger than its child is
// another one that got the number of a parent that ended.
func (t processTree) climb(pid int) (bool, error) {
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
