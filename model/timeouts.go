package model

import "time"

// Timeouts limit how long a call waits for a silent provider. The zero value has the defaults; a negative
// value is no limit.
type Timeouts struct {
	Connect   time.Duration // until the connection is open; default 30 s
	FirstByte time.Duration // from then until the answer's header; default 120 s
	Idle      time.Duration // between two events of the answer, not counting pings; default 90 s
}

// Fill returns the timeouts with defaults filled in.
func (t Timeouts) Fill() Timeouts {
	for _, f := range []struct {
		value   *time.Duration
		usually time.Duration
	}{{&t.Connect, 30 * time.Second}, {&t.FirstByte, 120 * time.Second}, {&t.Idle, 90 * time.Second}} {
		if *f.value == 0 {
			*f.value = f.usually
		}
	}
	return t
}
