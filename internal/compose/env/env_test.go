package env

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/runspec"
)

// What systemd gives the daemon, and a client's credential, is not for agents.
func TestServiceVariables(t *testing.T) {
	vars := []string{"A=1", "NOTIFY_SOCKET=/n", "LISTEN_FDS=1", "WATCHDOG_USEC=1", "HOLDFAST_DAEMON_TOKEN=hf_x", "HOLDFAST_HOME=/h", "LISTEN_FDS_X=1"}
	if got := WithoutServiceVariables(vars); !slices.Equal(got, []string{"A=1", "HOLDFAST_HOME=/h", "LISTEN_FDS_X=1"}) {
		t.Error(got)
	}
}

// A variable that is fetched is not missing.
func TestMissing(t *testing.T) {
	e := &Env{Vars: []string{"A=1", "B="}}
	got := e.Missing(&runspec.Environment{Variables: []string{"A", "B", "C", "D"}, References: map[string]string{"D": "env:A"}})
	if !slices.Equal(got, []string{"C"}) {
		t.Error(got)
	}
}
