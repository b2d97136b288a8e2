//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kill kills all processes in the folder and below it, and returns when it is empty.
func (f *folder) kill(deadline time.Time) error {
	stop := f.stopForks()
	defer stop()
	for {
		all := f.processes()
		if len(all) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("control group %s: %d processes did not end; the first is %d", f.path, len(all), all[0].pid)
		}
		if f.write("cgroup.kill", "1") != nil { // version 1, and version 2 before Linux 5.14
			for _, p := range all {
				p.kill()
			}
		}
		time.Sleep(tick) // these are not children of this process, so it cannot wait for them
	}
}

// stopForks prevents all forks in the group until the returned function is called, if the folder has the pids
// controller. Otherwise processes could fork faster than they are killed.
func (f *folder) stopForks() (again func()) {
	const name = "pids.max"
	b, err := os.ReadFile(filepath.Join(f.path, name))
	if err != nil || f.write(name, "0") != nil {
		return func() {}
	}
	return func() { _ = f.write(name, strings.TrimSpace(string(b))) }
}

// member is a process in a group.
type member struct {
	pid    int
	folder string
}

func (f *folder) processes() []member {
	var out []member
	for _, dir := range f.folders() {
		for _, pid := range pidsIn(dir) {
			out = append(out, member{pid, dir})
		}
	}
	return out
}

// pidsIn reads the list of a group. The kernel writes 0 for processes that this pid namespace does not show.
func pidsIn(dir string) []int {
	b, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	var out []int
	for w := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(w); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// kill kills a process if it is still in the group: its id may have been reused since the list was read. It
// opens a handle (pidfd) before it reads the list again, so that the handle belongs to the process in the
// list.
func (m member) kill() {
	if m.pid <= 0 {
		return
	}
	p, err := os.FindProcess(m.pid)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if slices.Contains(pidsIn(m.folder), m.pid) {
		_ = p.Signal(syscall.SIGKILL)
	}
}

// eachFolder calls a function for each folder and joins the errors.
func eachFolder(list []*folder, do func(*folder) error) error {
	var errs []error
	for _, f := range list {
		errs = append(errs, do(f))
	}
	return errors.Join(errs...)
}
