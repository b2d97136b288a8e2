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

// applyLimits creates the control group for the limits. If a controller is missing, which is so for
// most ordinary users, it enforces the limit in another way. A limit that cannot be enforced is an
// error.
func (j *Jail) applyLimits() error {
	limits := j.policy.Limits
	if limits == (cgroup.Limits{}) {
		return nil
	}
	if limits.Processes > 0 && !j.weaker {
		limits.Processes++ // init
	}
	support := cgroup.Detect()
	allows := func(l cgroup.Limits) error { return support.Allows(l) }
	if err := allows(cgroup.Limits{CPUs: limits.CPUs}); err != nil {
		return err
	}
	if err := allows(cgroup.Limits{Processes: limits.Processes}); err != nil {
		// The kernel counts an ordinary user's processes separately in each user namespace.
		if os.Geteuid() == 0 || j.weaker {
			return err
		}
		j.rlimits = append(j.rlimits, rlimit{unix.RLIMIT_NPROC, uint64(limits.Processes)})
		limits.Processes = 0
	}
	if err := allows(cgroup.Limits{Memory: limits.Memory}); err != nil {
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

// memoryPoll is the interval at which memory is measured if no control group limits it. A command
// can exceed its limit for up to this time.
const memoryPoll = 50 * time.Millisecond

// watchMemory kills the command when all its processes together use more memory than allowed. In
// addition, the kernel limits each single process.
func (p *Process) watchMemory() {
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

// resident returns the memory of a process and its descendants in bytes. Memory that several processes share
// is counted once for each of them.
func resident(pid int) int64 {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	var total int64
	if statm, err := os.ReadFile(dir + "/statm"); err == nil {
		if fields := bytes.Fields(statm); len(fields) > 2 {
			all, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			file, _ := strconv.ParseInt(string(fields[2]), 10, 64)
			total = max(all-file, 0) * int64(os.Getpagesize()) // the memory, not including file pages and shared memory
		}
	}
	if status, err := os.ReadFile(dir + "/status"); err == nil {
		total += sharedMemory(status)
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

// sharedMemory returns RssShmem from a process's status, in bytes.
func sharedMemory(status []byte) int64 {
	_, settle, ok := bytes.Cut(status, []byte("\nRssShmem:"))
	if !ok {
		return 0
	}
	if fields := bytes.Fields(settle[:bytes.IndexByte(settle, '\n')]); len(fields) > 0 {
		n, _ := strconv.ParseInt(string(fields[0]), 10, 64)
		return n << 10
	}
	return 0
}
