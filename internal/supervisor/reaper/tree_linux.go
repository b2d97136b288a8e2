package reaper

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Numbers of system calls that package syscall lacks; the same on every architecture.
const (
	sysPidfdSendSignal      = 424
	sysPidfdOpen            = 434
	sysLandlockRestrictSelf = 446
)

// proc is a process as /proc tells it.
type proc struct {
	pid, parent, group int
	zombie             bool
}

// Tree lists the processes below one, parents first, without those that have ended.
// Children of root that skip says true of are left out, with what is below them.
func Tree(root int, skip func(pid int) bool) []int {
	var out []int
	for _, p := range tree(root, skip) {
		if !p.zombie {
			out = append(out, p.pid)
		}
	}
	return out
}

// tree lists zombies too: one whose first thread has ended looks like one, and lives.
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
			if p, ok := look(pid); ok {
				p.parent = parent
				out = append(out, p)
			}
		}
	}
	return out
}

// childLister returns what lists a process's children.
func childLister() func(pid int) []int {
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return scan() // a kernel without that file
	}
	return childrenOf
}

// childrenOf asks the kernel for what the threads of a process have started.
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

// scan reads who is whose child from all of /proc.
func scan() func(pid int) []int {
	by := map[int][]int{}
	for _, name := range names("/proc") {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := look(pid); ok {
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

// look reads what /proc says of a process.
func look(pid int) (proc, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // a program's name may hold anything
	if len(f) < 3 {
		return proc{}, false
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	group, err2 := strconv.Atoi(string(f[2]))
	state := string(f[0])
	return proc{pid: pid, parent: parent, group: group, zombie: state == "Z" || state == "X"}, err1 == nil && err2 == nil
}

// Parent is the number of a process's parent, 0 when that is outside of our pid
// namespace, -1 when there is no such process.
func Parent(pid int) int {
	if p, ok := look(pid); ok {
		return p.parent
	}
	return -1
}

// Kill sends a signal to every process below one, and to their groups: what a process
// starts while that happens gets it as one of its group. It returns how many there were.
func Kill(root int, sig syscall.Signal, skip func(pid int) bool) int {
	ours := syscall.Getpgrp()
	list := tree(root, skip)
	for _, p := range list {
		fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(p.pid), 0, 0)
		held := errno == 0
		// Its number may have become another's since it was listed; what is held now
		// and still has the parent it had is the one, or it has become root's.
		now, ok := look(p.pid)
		if ok && (now.parent == p.parent || now.parent == root) {
			if now.group > 1 && now.group != ours {
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

// Children lists the processes that one has started or adopted, those that have ended
// too, but for those that skip says true of.
func Children(pid int, skip func(pid int) bool) []int {
	list := childLister()(pid)
	if skip != nil {
		list = slices.DeleteFunc(list, skip)
	}
	return list
}
