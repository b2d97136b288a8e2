//go:build unix

package sandbox

import "time"

// UserTime is the processor time of the command and all it waited for.
func (s *State) UserTime() time.Duration { return time.Duration(s.Usage.Utime.Nano()) }

// SystemTime is the kernel's time for the command and all it waited for.
func (s *State) SystemTime() time.Duration { return time.Duration(s.Usage.Stime.Nano()) }
