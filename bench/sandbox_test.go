//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestParseMounts(t *testing.T) {
	const text = `66 82 254:0 /w/a /w/a rw,nosuid,relatime - ext4 /dev/vda rw
75 94 254:0 /w/a/.git/hooks /w/a/.git/hooks ro,nosuid - ext4 /dev/vda rw
94 66 254:0 /w/a/.git /w/a/.git rw,nosuid master:3 - ext4 /dev/vda rw
84 44 0:40 /file /etc/sha\040dow ro,nosuid - tmpfs none rw
89 44 0:40 /folder /root/.ssh ro,nosuid - tmpfs none rw
82 44 0:40 /tmp /tmp rw,nosuid - tmpfs none rw
`
	mounts, err := parseMounts(text)
	if err != nil {
		t.Fatal(err)
	}
	twin := t.TempDir()
	var got []string
	for _, m := range mounts {
		got = append(got, m.flags("/w/a", twin, "/empty")...)
	}
	// The twin is empty, so its protected names would be created.
	want := []string{
		"--ro-bind", "/dev/null", "/etc/sha dow",
		"--ro-bind", "/empty", "/root/.ssh",
		"--ro-bind", "/dev/null", twin + "/.git",
		"--ro-bind", "/dev/null", twin + "/.git/hooks",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if _, err := parseMounts("66 82 254:0\n"); err == nil {
		t.Error("half a line was read")
	}
}

func TestMountFlags(t *testing.T) {
	twin := t.TempDir()
	for _, tt := range []struct {
		name string
		m    mount
		want string
	}{
		{"pin", mount{at: "/w", kind: "ext4"}, "--bind"},
		{"protected", mount{at: "/w", kind: "ext4", readOnly: true}, "--ro-bind"},
	} {
		tt.m.at = "/w/" // exists in the twin
		if got := tt.m.flags("/w", twin, "/empty"); len(got) != 3 || got[0] != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestParseFigures(t *testing.T) {
	got := parseFigures(`goos: linux
BenchmarkCall/getppid/tree-2   	  100	 5000 ns/op	 61.20 best-ns/call
BenchmarkDownload-2  12  99 ns/op  2900 MB/s  0.81 CONNECT/direct
PASS
`)
	for _, tt := range []struct {
		name, unit string
		want       float64
	}{
		{"BenchmarkCall/getppid/tree", "best-ns/call", 61.2},
		{"BenchmarkDownload", "CONNECT/direct", 0.81},
	} {
		if v, err := got.find(tt.name, tt.unit); err != nil || v != tt.want {
			t.Errorf("%s %s: %v, %v", tt.name, tt.unit, v, err)
		}
	}
	if _, err := got.find("BenchmarkDownload", "HTTP/direct"); err == nil || !strings.Contains(err.Error(), "HTTP/direct") {
		t.Error(err)
	}
}

func TestParseBusy(t *testing.T) {
	for _, tt := range []struct {
		stat string
		want int64
		ok   bool
	}{
		{"cpu  10 1 5 1000 50 2 3 999 0 0\ncpu0 1 1 1 1 1 1 1 1\n", 21, true}, // neither idle, disk nor steal time
		{"cpu  10 1 5\n", 0, false},
		{"cpu  10 1 x 1000 50 2 3 0 0 0\n", 0, false},
		{"", 0, false},
	} {
		if got, err := parseBusy(tt.stat); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: %d, %v", tt.stat, got, err)
		}
	}
}

func TestInterpolatedQuantile(t *testing.T) {
	for _, tt := range []struct {
		of   []float64
		q    float64
		want float64
	}{
		{[]float64{3}, 0.5, 3},
		{[]float64{4, 1}, 0.5, 2.5},
		{[]float64{5, 1, 3}, 0.5, 3},
		{[]float64{5, 1, 4, 2, 3}, 0.25, 2},
		{[]float64{1, 2}, 1, 2},
	} {
		if got := interpolatedQuantile(tt.of, tt.q); got != tt.want {
			t.Errorf("%v at %v: %v, want %v", tt.of, tt.q, got, tt.want)
		}
	}
}
