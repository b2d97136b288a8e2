package session

import "fmt"

// Holder says which process holds a lease, well enough to tell on the same
// machine whether it still lives.
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
