package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/uuid"
)

// Holder identifies the process that holds a lease, precisely enough that a process on the same
// machine can tell whether it is still running.
type Holder struct {
	ID      string `json:"id"` // random, one per Sessions
	Host    string `json:"host,omitempty"`
	Boot    string `json:"boot,omitempty"`    // the kernel's boot id
	PIDNS   string `json:"pid_ns,omitempty"`  // the pid namespace
	PID     int    `json:"pid,omitempty"`     //
	Started int64  `json:"started,omitempty"` // the process's start time in clock ticks since boot
	Command string `json:"command,omitempty"`
}

func (h Holder) String() string {
	return fmt.Sprintf("process %d on %s (%s)", h.PID, h.Host, h.Command)
}

// thisProcess describes the running process, with a new ID. Without /proc, Boot, PIDNS and Started
// are empty.
func thisProcess() Holder {
	h := Holder{ID: uuid.NewString(), PID: os.Getpid(), Command: filepath.Base(os.Args[0])}
	h.Host, _ = os.Hostname()
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		h.Boot = strings.TrimSpace(string(b))
	}
	h.PIDNS, _ = os.Readlink("/proc/self/ns/pid")
	h.Started, _ = startTicks(h.PID)
	return h
}

// HasEnded reports whether h is known to have ended, as seen from the process me. It is false if
// that is unknown: on another machine, in another pid namespace, or without /proc.
func (h Holder) HasEnded(me Holder) bool {
	if h.Boot == "" || h.PIDNS == "" || h.Boot != me.Boot || h.PIDNS != me.PIDNS || h.PID == 0 || h.Started == 0 {
		return false
	}
	ticks, err := startTicks(h.PID)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	return ticks != h.Started
}

// startTicks reads the start time of a process from field 22 of /proc/PID/stat. The command name
// before that field may contain spaces and parentheses. A zombie counts as ended.
func startTicks(pid int) (int64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	s := string(b)
	rest := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(rest) < 20 {
		return 0, fmt.Errorf("session: /proc/%d/stat is too short", pid)
	}
	if rest[0] == "Z" || rest[0] == "X" {
		return 0, fs.ErrNotExist
	}
	return strconv.ParseInt(rest[19], 10, 64)
}
