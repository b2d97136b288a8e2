package model

import "time"

// Timeouts bound how long a call waits for a provider that says nothing. The zero value
// has the defaults; a negative value is no bound.
type Timeouts struct {
	Connect   time.Duration // until there is a connection; default 30 s
	FirstByte time.Duration // from then on until the answer's header; default 120 s
	Idle      time.Duration // between two events of the answer, pings not counted; default 90 s
}

// Fill returns the time-outs with their defaults.
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
