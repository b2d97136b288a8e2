package sandbox

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// Minimums: a command cannot start with less.
const (
	minCPU      = 0.01
	minMemory   = 4 << 20
	minPids     = 4
	minFileSize = 1 << 10
	minWallTime = 100 * time.Millisecond
	minOutput   = 1 << 10
)

// Maximums: a larger value is a typing error.
const (
	maxCPU  = 1 << 12
	maxPids = 1 << 22 // PID_MAX_LIMIT
)

// Limits restrict the resources of the commands of a sandbox. 0 means no limit.
type Limits struct {
	CPU         float64       `json:"cpu,omitempty"`         // processors: 1.5
	Memory      int64         `json:"memory,omitempty"`      // in bytes; in JSON also "512MiB"
	Pids        int           `json:"pids,omitempty"`        // processes and threads
	FileSize    int64         `json:"fileSize,omitempty"`    // maximum size of one file in bytes
	WallTime    time.Duration `json:"wallTime,omitempty"`    // time limit of one command; in JSON "30s"
	OutputBytes int64         `json:"outputBytes,omitempty"` // maximum output of one command in bytes; the rest is dropped and reported
}

// MarshalJSON encodes the limits in the form that [Settings.Decode] reads.
func (l Limits) MarshalJSON() ([]byte, error) {
	type plain Limits
	var wall string
	if l.WallTime != 0 {
		wall = l.WallTime.String()
	}
	return json.Marshal(struct {
		plain
		WallTime string `json:"wallTime,omitempty"`
	}{plain(l), wall})
}

// least returns the stricter value of each limit in two sets of limits.
func (l Limits) least(o Limits) Limits {
	return Limits{
		CPU: smaller(l.CPU, o.CPU), Memory: smaller(l.Memory, o.Memory), Pids: smaller(l.Pids, o.Pids),
		FileSize: smaller(l.FileSize, o.FileSize), WallTime: smaller(l.WallTime, o.WallTime), OutputBytes: smaller(l.OutputBytes, o.OutputBytes),
	}
}

// smaller returns the smaller of two limits; 0 means no limit.
func smaller[T int | int64 | float64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// check validates limits that did not come from a file.
func (l *Limits) check() error {
	if l == nil {
		return nil
	}
	for _, c := range []struct {
		field string
		what  string
	}{
		{"cpu", tooSmall(l.CPU, minCPU, "processors") + tooLarge(l.CPU, maxCPU, "processors")},
		{"memory", tooSmall(l.Memory, minMemory, "bytes")},
		{"pids", tooSmall(l.Pids, minPids, "processes") + tooLarge(l.Pids, maxPids, "processes")},
		{"fileSize", tooSmall(l.FileSize, minFileSize, "bytes")},
		{"wallTime", tooSmall(l.WallTime, minWallTime, "of time")},
		{"outputBytes", tooSmall(l.OutputBytes, minOutput, "bytes")},
	} {
		if c.what != "" {
			return &Error{Field: "limits." + c.field, Detail: c.what, hint: limitHint}
		}
	}
	return nil
}

const limitHint = "leave it out for no limit"

func tooSmall[T int | int64 | float64 | time.Duration](v, least T, unit string) string {
	if v != 0 && v < least || v != v { // also NaN
		return fmt.Sprintf("%v %s is less than a command needs, which is at least %v", v, unit, least)
	}
	return ""
}

func tooLarge[T int | float64](v, most T, unit string) string {
	if v > most {
		return fmt.Sprintf("%v %s is above the maximum of %v", v, unit, most)
	}
	return ""
}

func (d *decoder) limits(v value, s *Settings) error {
	l := &Limits{}
	s.Limits = l
	return d.object(v, fields{
		"cpu":         limitReader(readCPU, "a number of processors such as 1.5", &l.CPU, minCPU, maxCPU),
		"memory":      limitReader(readBytes, wantBytes, &l.Memory, minMemory, math.MaxInt64),
		"pids":        limitReader(readCount, "a number of processes such as 200", &l.Pids, minPids, maxPids),
		"fileSize":    limitReader(readBytes, wantBytes, &l.FileSize, minFileSize, math.MaxInt64),
		"wallTime":    limitReader(readTime, `a time such as "30s"`, &l.WallTime, minWallTime, math.MaxInt64),
		"outputBytes": limitReader(readBytes, wantBytes, &l.OutputBytes, minOutput, math.MaxInt64),
	})
}

const wantBytes = `a number of bytes, or a string such as "512MiB"`

// limitReader reads one limit and checks its range.
func limitReader[T int | int64 | float64 | time.Duration](read func(n *jsontree.Node) (T, bool), want string, into *T, least, most T) reader {
	return func(v value) error {
		got, ok := read(v.Node)
		switch {
		case !ok:
			return v.typeError(want)
		case got < least:
			return &Error{Field: v.field, Offset: v.At, Detail: v.Text + " is less than a command needs", hint: fmt.Sprintf("write at least %s, or leave it out for no limit", limitText(least))}
		case got > most:
			return &Error{Field: v.field, Offset: v.At, Detail: v.Text + " is above the maximum", hint: fmt.Sprintf("write at most %v, or leave it out for no limit", most)}
		}
		*into = got
		return nil
	}
}

// limitText returns a bound as a user would write it.
func limitText[T int | int64 | float64 | time.Duration](v T) string {
	switch n, ok := any(v).(int64); {
	case !ok:
		return fmt.Sprint(v)
	case n >= 1<<20:
		return fmt.Sprintf("%dMiB", n>>20)
	default:
		return fmt.Sprintf("%dKiB", n>>10)
	}
}

func readCPU(n *jsontree.Node) (float64, bool) {
	v, err := strconv.ParseFloat(n.Text, 64)
	return v, err == nil && n.Kind == jsontree.Number
}

func readCount(n *jsontree.Node) (int, bool) {
	v, err := strconv.Atoi(n.Text)
	return v, err == nil && n.Kind == jsontree.Number
}

func readTime(n *jsontree.Node) (time.Duration, bool) {
	v, err := time.ParseDuration(n.Text)
	return v, err == nil && n.Kind == jsontree.Text
}

// units are the suffixes of a number of bytes, longer ones first.
var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

func readBytes(n *jsontree.Node) (int64, bool) {
	switch n.Kind {
	case jsontree.Number:
		v, err := strconv.ParseInt(n.Text, 10, 64)
		return v, err == nil
	case jsontree.Text:
		for _, u := range units {
			if number, ok := strings.CutSuffix(n.Text, u.name); ok {
				return scale(strings.TrimSuffix(number, " "), u.bytes)
			}
		}
	}
	return 0, false
}

// scale parses "1.5" in a unit: digits with at most one point.
func scale(number string, unit float64) (int64, bool) {
	if strings.Trim(number, "0123456789.") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= unit
	return int64(v), err == nil && v < 1<<62
}
