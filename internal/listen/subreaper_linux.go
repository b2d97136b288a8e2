package listen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Subreaper makes this process the parent of its descendants whose own parent has ended. So every
// process that an agent started stays a descendant of the daemon, however it was started, and
// cannot claim to be a client of another user. The daemon must wait for the processes that it
// adopted:
//
//	zombie child ─► does this program wait for it (hold its pidfd)? ─► no, in two checks ─► wait4
type Subreaper struct {
	stop, done chan struct{}
	once       sync.Once
	ended      map[int]bool // the zombie processes that the last check found
}

const reapEvery = 5 * time.Second

// StartSubreaper starts adopting orphaned processes.
func StartSubreaper() (*Subreaper, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the parent of orphaned processes: %w", err)
	}
	a := &Subreaper{stop: make(chan struct{}), done: make(chan struct{}), ended: map[int]bool{}}
	go a.run()
	return a, nil
}

func (a *Subreaper) run() {
	defer close(a.done)
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-a.stop:
			return
		case <-tick.C:
			a.reap()
		}
	}
}

// Close stops the checks. When this process ends, the processes that still run get another parent.
func (a *Subreaper) Close() {
	a.once.Do(func() { close(a.stop) })
	<-a.done
}

// reap waits for zombies that no other code waits for. This program holds a pidfd for every process
// that it starts, until it has waited for that process.
func (a *Subreaper) reap() {
	zombies := map[int]bool{}
	for _, pid := range Children(os.Getpid()) {
		if isZombie(pid) {
			zombies[pid] = true
		}
	}
	if len(zombies) > 0 {
		for _, pid := range waitedFor() {
			delete(zombies, pid)
		}
	}
	for pid := range zombies {
		if a.ended[pid] {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			delete(zombies, pid)
		}
	}
	a.ended = zombies
}

// Children lists the children of all threads of a process.
func Children(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var out []int
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for w := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(w); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

func isZombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	return err == nil && len(f) > 0 && string(f[0]) == "Z"
}

// waitedFor lists the processes for which this process holds a pidfd.
func waitedFor() []int {
	files, _ := filepath.Glob("/proc/self/fdinfo/*")
	var out []int
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "Pid:"); ok {
				if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
					out = append(out, n)
				}
			}
		}
	}
	return out
}
