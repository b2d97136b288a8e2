//go:build unix

package sandbox

import "time"

// UserTime returns the processor time of the command and its waited-for children.
func (s *State) UserTime() time.Duration { return time.Duration(s.Usage.Utime.Nano()) }

// SystemTime returns the kernel's processor time for the command and its waited-for children.
func (s *State) SystemTime() time.Duration { return time.Duration(s.Usage.Stime.Nano()) }
