//go:build linux && (amd64 || arm64)

package kernel

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/sandbox/cgroup"
)

// bound makes the control group for the limits, and where one is missing, as for
// most ordinary users, sees what else can hold them. What nothing holds is an error.
func (j *Jail) bound() error {
	limits := j.policy.Limits
	if limits == (cgroup.Limits{}) {
		return nil
	}
	if limits.Processes > 0 && !j.weaker {
		limits.Processes++ // init
	}
	support := cgroup.Detect()
	lacks := func(l cgroup.Limits) error { return support.Allows(l) }
	if err := lacks(cgroup.Limits{CPUs: limits.CPUs}); err != nil {
		return err
	}
	if err := lacks(cgroup.Limits{Processes: limits.Processes}); err != nil {
		// In a user namespace of its own an ordinary user has a count of its own.
		if os.Geteuid() == 0 || j.weaker {
			return err
		}
		j.rlimits = append(j.rlimits, rlimit{unix.RLIMIT_NPROC, uint64(limits.Processes)})
		limits.Processes = 0
	}
	if err := lacks(cgroup.Limits{Memory: limits.Memory}); err != nil {
		if j.weaker {
			return err
		}
		j.rlimits = append(j.rlimits, rlimit{unix.RLIMIT_DATA, uint64(limits.Memory)})
		j.memory, limits.Memory = limits.Memory, 0
		if size := j.policy.TempSize; size == 0 || size > j.memory {
			j.policy.TempSize = j.memory
		}
	}
	if limits == (cgroup.Limits{}) {
		return nil
	}
	var err error
	j.group, err = cgroup.Open(limits)
	return err
}

// How often memory is looked at, where no control group does it. A command may be
// above its limit for as long.
const memoryPoll = 50 * time.Millisecond

// guard kills the command when all its processes together have more memory than
// they may. Each alone is held by the kernel.
func (p *Process) guard() {
	tick := time.NewTicker(memoryPoll)
	defer tick.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-tick.C:
			if resident(p.pid) > p.jail.memory {
				p.memoryExceeded.Store(true)
				_ = p.Signal(unix.SIGKILL)
				return
			}
		}
	}
}

// resident sums the memory of a process and all below it, in bytes. What several
// share is counted for each.
func resident(pid int) int64 {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	var total int64
	if statm, err := os.ReadFile(dir + "/statm"); err == nil {
		if fields := bytes.Fields(statm); len(fields) > 2 {
			all, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			file, _ := strconv.ParseInt(string(fields[2]), 10, 64)
			total = max(all-file, 0) * int64(os.Getpagesize()) // without what is files, or shared memory
		}
	}
	if status, err := os.ReadFile(dir + "/status"); err == nil {
		total += shared(status)
	}
	tasks, _ := os.ReadDir(dir + "/task")
	for _, t := range tasks {
		children, _ := os.ReadFile(filepath.Join(dir, "task", t.Name(), "children"))
		for c := range bytes.FieldsSeq(children) {
			if n, err := strconv.Atoi(string(c)); err == nil {
				total += resident(n)
			}
		}
	}
	return total
}

// shared reads RssShmem of a process's status, in bytes.
func shared(status []byte) int64 {
	_, rest, ok := bytes.Cut(status, []byte("\nRssShmem:"))
	if !ok {
		return 0
	}
	if fields := bytes.Fields(rest[:bytes.IndexByte(rest, '\n')]); len(fields) > 0 {
		n, _ := strconv.ParseInt(string(fields[0]), 10, 64)
		return n << 10
	}
	return 0
}
