//go:build unix

package tools

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
	"github.com/holdfast-dev/holdfast/session"
)

// The person hears of a server that is waited for no longer: it may be one that never answers.
func TestLateServersNotice(t *testing.T) {
	got := notReady([]mcp.Status{{Name: "a", State: mcp.Connected}, {Name: "b", State: mcp.Connecting}, {Name: "c", State: mcp.Failed}, {Name: "d", State: mcp.NeedsAuth}})
	if !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %q, want b", got)
	}
}

// When a session's lease is lost, the servers end that run for it alone: a sub-agent leaves
// those of the run to the run.
func TestTheLeaseEndsServers(t *testing.T) {
	open := func(pipe string) *servers {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := mcp.Open([]mcp.Server{{
			Name: "s", Command: "/bin/sh", Args: []string{"-c", "exec 3> '" + pipe + "'; sleep 1000"}, StartTimeout: time.Hour,
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		c.Start()
		return &servers{client: c}
	}
	dir := t.TempDir()
	ofRun, own := filepath.Join(dir, "run"), filepath.Join(dir, "own")
	run := &Toolbox{servers: open(ofRun)}
	sub := &Toolbox{servers: run.servers, subagentServers: open(own), sub: true}
	ends := func(pipe string, by *Toolbox) {
		f, err := os.Open(pipe) // once it has begun
		if err != nil {
			t.Fatal(err)
		}
		by.EndServers(session.ErrLeaseLost)
		if _, err := io.Copy(io.Discard, f); err != nil { // until it has ended
			t.Error(err)
		}
		_ = f.Close()
	}
	ends(own, sub)
	if st := run.servers.client.Status()[0].State; st != mcp.Connecting {
		t.Errorf("that of the run is %s", st)
	}
	ends(ofRun, run)
}
