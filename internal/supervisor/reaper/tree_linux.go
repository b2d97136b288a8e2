package reaper

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// System call numbers that package syscall lacks; the same on every architecture.
const (
	sysPidfdSendSignal      = 424
	sysPidfdOpen            = 434
	sysLandlockRestrictSelf = 446
)

// proc is a process as /proc shows it.
type proc struct {
	pid, parent, group int
	zombie             bool
}

// Tree lists the processes below one, parents first, without those that have ended. It omits children of root for
// which skip returns true, with everything below them.
func Tree(root int, skip func(pid int) bool) []int {
	var out []int
	for _, p := range tree(root, skip) {
		if !p.zombie {
			out = append(out, p.pid)
		}
	}
	return out
}

// tree is like Tree, but also lists zombies, because a process whose first thread has ended looks
// like a zombie but is alive.
func tree(root int, skip func(pid int) bool) []proc {
	children := childLister()
	var out []proc
	parents := []int{root}
	for len(parents) > 0 && len(out) < 1<<20 {
		parent := parents[0]
		parents = parents[1:]
		for _, pid := range children(parent) {
			if parent == root && skip != nil && skip(pid) {
				continue
			}
			parents = append(parents, pid)
			if p, ok := readProc(pid); ok {
				p.parent = parent
				out = append(out, p)
			}
		}
	}
	return out
}

// childLister returns a function that lists a process's children.
func childLister() func(pid int) []int {
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return scanParents() // a kernel without that file
	}
	return childrenOf
}

// childrenOf asks the kernel for the children of all threads of a process.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	var out []int
	for _, thread := range names(dir) {
		b, _ := os.ReadFile(dir + "/" + thread + "/children")
		for w := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(w); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// scanParents reads all parents from /proc.
func scanParents() func(pid int) []int {
	by := map[int][]int{}
	for _, name := range names("/proc") {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProc(pid); ok {
				by[p.parent] = append(by[p.parent], pid)
			}
		}
	}
	return func(pid int) []int { return by[pid] }
}

func names(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.Readdirnames(-1)
	return list
}

// readProc reads a process from /proc.
func readProc(pid int) (proc, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // a program's name may contain any character
	if len(f) < 3 {
		return proc{}, false
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	group, err2 := strconv.Atoi(string(f[2]))
	state := string(f[0])
	return proc{pid: pid, parent: parent, group: group, zombie: state == "Z" || state == "X"}, err1 == nil && err2 == nil
}

// Parent returns the parent of a process, 0 if that is outside of this pid namespace, -1 if the process does not
// exist.
func Parent(pid int) int {
	if p, ok := readProc(pid); ok {
		return p.parent
	}
	return -1
}

// Kill sends a signal to every process below one, and to their groups. A process that was started
// after the tree was listed gets the signal as a member of its group. It returns the number of
// processes.
func Kill(root int, sig syscall.Signal, skip func(pid int) bool) int {
	ownGroup := syscall.Getpgrp()
	list := tree(root, skip)
	for _, p := range list {
		fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(p.pid), 0, 0)
		held := errno == 0
		// The number may have been reused since the process was listed. If the process of the pidfd
		// still has the same parent, or was adopted by root, it is the process that was listed.
		now, ok := readProc(p.pid)
		if ok && (now.parent == p.parent || now.parent == root) {
			if now.group > 1 && now.group != ownGroup {
				_ = syscall.Kill(-now.group, sig)
			}
			if held {
				_, _, _ = syscall.Syscall6(sysPidfdSendSignal, fd, uintptr(sig), 0, 0, 0, 0)
			} else {
				_ = syscall.Kill(p.pid, sig)
			}
		}
		if held {
			_ = syscall.Close(int(fd))
		}
	}
	return len(list)
}

// Children lists the processes that a process has started or adopted, including ended ones, except those for which
// skip returns true.
func Children(pid int, skip func(pid int) bool) []int {
	list := childLister()(pid)
	if skip != nil {
		list = slices.DeleteFunc(list, skip)
	}
	return list
}
