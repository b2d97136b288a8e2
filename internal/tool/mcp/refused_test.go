package mcp

import (
	"strings"
	"testing"
)

// A server that lives on does not say that the sandbox refused a program that it started.
func TestAFailedCallNamesTheSetting(t *testing.T) {
	now := map[string]int{"network.allowUnixSockets": 2, "network.allowLocalBinding": 1}
	p := &process{refused: func() map[string]int { return now }}
	before := map[string]int{"network.allowLocalBinding": 1}
	if got := refusedSince(before, p); !strings.Contains(got, "network.allowUnixSockets") || strings.Contains(got, "allowLocalBinding") {
		t.Errorf("told %q", got)
	}
	if got := refusedSince(p.refusals(), p); got != "" {
		t.Errorf("nothing was refused meanwhile: %q", got)
	}
	var remote *process // of a server that is reached by its address
	if got := refusedSince(nil, remote); got != "" {
		t.Errorf("told %q", got)
	}
}
