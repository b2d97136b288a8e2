//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// period is the interval after which a quota of processor time is renewed, in microseconds. It is
// the kernel's default.
const period = 100_000

// limit writes the limits for the folder's controllers.
func (f *folder) limit(l *Limits) error {
	for _, c := range f.controllers {
		var err error
		switch c {
		case memory:
			err = f.limitMemory(l.Memory)
		case pids:
			err = f.write("pids.max", strconv.Itoa(l.Processes))
		case cpu:
			err = f.limitCPU(l.CPUs)
		}
		if err != nil {
			return fmt.Errorf("limit of %s: %w", subjects[c], err)
		}
	}
	return nil
}

// limitMemory limits memory, and memory plus swap to the same value. If the kernel does not account
// for swap, the group is set to use none. If the limit is exceeded, the kernel kills the biggest
// process and not the group: memory.oom.group stays 0, as in version 1.
func (f *folder) limitMemory(n int64) error {
	value := strconv.FormatInt(n, 10)
	if f.version == 2 {
		if err := f.write("memory.max", value); err != nil {
			return err
		}
		if !f.has("memory.swap.max") {
			return nil // a kernel without swap
		}
		return f.write("memory.swap.max", "0")
	}
	if err := f.write("memory.limit_in_bytes", value); err != nil {
		return err
	}
	if !f.has("memory.memsw.limit_in_bytes") {
		return f.write("memory.swappiness", "0")
	}
	return f.write("memory.memsw.limit_in_bytes", value)
}

func (f *folder) limitCPU(cpus float64) error {
	quota := int64(cpus * period)
	if f.version == 2 {
		return f.write("cpu.max", fmt.Sprintf("%d %d", quota, period))
	}
	if err := f.write("cpu.cfs_period_us", strconv.Itoa(period)); err != nil {
		return err
	}
	err := f.write("cpu.cfs_quota_us", strconv.FormatInt(quota, 10))
	if errors.Is(err, syscall.EINVAL) && f.parentHasLess(cpus) {
		return nil // version 1 rejects a limit above that of a parent group; the parent's limit applies anyway
	}
	return err
}

// parentHasLess reports whether a parent group has less processor time.
func (f *folder) parentHasLess(cpus float64) bool {
	for dir := filepath.Dir(f.path); ; dir = filepath.Dir(dir) {
		quota, err := readNumber(filepath.Join(dir, "cpu.cfs_quota_us"))
		if err != nil {
			return false
		}
		length, err := readNumber(filepath.Join(dir, "cpu.cfs_period_us"))
		if err == nil && quota > 0 && length > 0 && float64(quota)/float64(length) < cpus {
			return true
		}
	}
}

func readNumber(file string) (int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}
