//go:build linux

package crashtest

import (
	"strings"
	"testing"
)

// The checks of the daemon trials must find each fault.
func TestClientEventsFindFaults(t *testing.T) {
	type frame struct {
		seq  int64
		more bool
		text string
	}
	whole := []frame{{1, false, "a"}, {2, true, "b"}, {2, false, "c"}, {4, false, "d"}}
	for _, tt := range []struct {
		name   string
		frames []frame
		every  bool
		fault  string // "" is none
	}{
		{"all", whole, false, ""},
		{"a repeat", append(whole[:4:4], frame{4, false, "d"}), false, "4 comes again"},
		{"an older one", append(whole[:4:4], frame{2, false, "c"}), false, "2 comes again"},
		{"a gap", []frame{{1, false, "a"}, {4, false, "d"}}, false, "has never heard 2"},
		{"a gap of one who hears all", whole, true, "4 comes after 2"},
		{"half a record", []frame{{1, false, "a"}, {2, true, "b"}, {4, false, "d"}}, false, "4 comes before 2 is whole"},
		{"other bytes", []frame{{1, false, "x"}, {2, true, "b"}, {2, false, "c"}, {4, false, "d"}}, false, "ws heard at 1\nx\nand on record is\na"},
		{"more than there is", append(whole[:4:4], frame{5, false, "e"}), false, "ws heard at 5\ne\nand on record is\n"},
		{"the end is missing", whole[:3], false, "up to 2, and there is 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, c := newClient(nil, "r", "ws"), newClient(nil, "r", "ws")
			c.every = tt.every
			for _, f := range whole {
				all.take(f.seq, f.more, f.text)
			}
			for _, f := range tt.frames {
				c.take(f.seq, f.more, f.text)
			}
			faults := strings.Join(c.compare(&all.clientEvents, true), "\n")
			if (tt.fault == "") != (faults == "") || !strings.Contains(faults, tt.fault) {
				t.Errorf("found %q, want %q", faults, tt.fault)
			}
		})
	}
}

// A client that reconnects in the middle of a record receives the whole record again.
func TestEventsReceivedAgain(t *testing.T) {
	c := newClient(nil, "r", "ws")
	c.take(1, false, "a")
	c.take(2, true, "b")
	if after := c.again(); after != 1 {
		t.Errorf("goes on after %d", after)
	}
	c.take(2, true, "b")
	c.take(2, false, "c")
	if len(c.faults) > 0 || c.by[2] != "b\nc" {
		t.Errorf("%q %v", c.faults, c.by)
	}
}
