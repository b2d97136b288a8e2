//go:build unix

package agent_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// renewFailingStore is a store that fails renewals of leases while it is unavailable.
type renewFailingStore struct {
	*memory.Store
	away atomic.Bool
}

func (d *renewFailingStore) Renew(ctx context.Context, id string, l session.Lease) error {
	if d.away.Load() {
		return &session.Error{Op: "renew", Session: id, Err: session.ErrUnavailable}
	}
	return d.Store.Renew(ctx, id, l)
}

// When a session's lease is lost, everything that runs for it ends: background tasks, hook commands
// (awaited or async), and what the host runs.
func TestLeaseLossEndsEverything(t *testing.T) {
	dir := t.TempDir()
	runner, err := hook.NewCommands(&hook.CommandsOptions{Project: dir, NoSandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	hooks := hook.New(&hook.Options{Runner: runner})
	t.Cleanup(func() { _ = hooks.Close() })
	kinds := map[string]hook.Definition{
		"async":      {Event: hook.UserPromptSubmit, Async: true},
		"detached":   {Event: hook.UserPromptSubmit, Command: `echo '{"async": true, "asyncTimeout": 3600000}'; `},
		"waited for": {Event: hook.PostToolBatch},
	}
	for name, d := range kinds {
		pipe := filepath.Join(dir, name)
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		d.Command += "exec 3> '" + pipe + "'; sleep 1000" // a reader of the pipe sees its end
		d.Timeout = time.Hour
		if err := hooks.Register(d); err != nil {
			t.Fatal(err)
		}
	}
	store := &renewFailingStore{Store: memory.New()}
	behind, host := newSlow("Behind", 0), make(chan error, 1)
	background := &agent.Background{}
	a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "Behind", `{}`)}}, step{text: "done"}, step{text: "more"}), agent.Options{
		Sessions: session.New(store, &session.Options{TTL: time.Second}), Tools: registry(t, behind), Hooks: agent.Hooks{Registry: hooks},
		Background: background, OnLeaseLost: func(err error) { host <- err },
	})
	over := make(chan error, 1)
	go func() {
		_, err := a.Prompt(context.Background(), "go")
		over <- err
	}()
	running := map[string]*os.File{}
	for name := range kinds {
		if running[name], err = os.Open(filepath.Join(dir, name)); err != nil { // after its start
			t.Fatal(err)
		}
	}
	<-behind.began
	store.away.Store(true)
	if err := <-host; !errors.Is(err, session.ErrLeaseLost) {
		t.Error(err)
	}
	if err := background.Wait(t.Context(), "c1"); err != nil {
		t.Error(err)
	}
	for _, f := range running {
		if _, err := io.Copy(io.Discard, f); err != nil { // until its end
			t.Error(err)
		}
		_ = f.Close()
	}
	store.away.Store(false)
	if err := <-over; err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
