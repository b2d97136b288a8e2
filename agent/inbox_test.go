package agent_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// flakyStore is a store that returns an error after a successful append, and cannot be read while it is
// unavailable.
type flakyStore struct {
	*memory.Store
	lose  func(session.Batch) bool // once
	stays bool                     // stays unavailable until it is restored
	gone  atomic.Bool
}

var errAway = errors.New("connection reset by peer")

func (s *flakyStore) Append(ctx context.Context, id string, b session.Batch) error {
	if s.gone.Load() {
		return errAway
	}
	err := s.Store.Append(ctx, id, b)
	if err == nil && s.lose != nil && s.lose(b) {
		s.lose = nil
		s.gone.Store(s.stays)
		return errAway
	}
	return err
}

func (s *flakyStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	if s.gone.Load() {
		return func(yield func(session.Record, error) bool) { yield(session.Record{}, errAway) }
	}
	return s.Store.Read(ctx, id, r)
}

// Input whose append succeeded although it returned an error is there once: when the session continues,
// when the caller submits it again, and when the caller submits something else.
func TestUnconfirmedInputOnce(t *testing.T) {
	for name, c := range map[string]struct {
		stays bool
		then  []string
		want  []string
	}{
		"session continues":       {false, nil, []string{"transfer 100"}},
		"submitted again":         {true, []string{"transfer 100"}, []string{"transfer 100"}},
		"other input submitted":   {true, []string{"good bye"}, []string{"transfer 100", "good bye"}},
		"nothing submitted again": {true, nil, []string{"transfer 100"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &flakyStore{Store: memory.New(), stays: c.stays}
				s := session.New(store, nil)
				a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "Look", `{}`)}}, step{text: "done"}), agent.Options{
					Sessions: s, Session: session.RestoreOptions{SessionID: "x"}, Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}},
					Tools: registry(t, probe{name: "Look", run: func(ctx context.Context, c *tool.Call) (tool.Result, error) { return tool.Text("seen"), nil }}),
				})
				if _, err := a.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				store.lose = func(b session.Batch) bool { return has(b, session.KindItem) }
				if err := a.Submit(t.Context(), transcript.Text{Text: "transfer 100"}); (err == nil) == c.stays {
					t.Fatal(err)
				}
				store.gone.Store(false)
				for _, text := range c.then {
					if err := a.Submit(t.Context(), transcript.Text{Text: text}); err != nil {
						t.Fatal(err)
					}
				}
				if c.stays && len(c.then) == 0 {
					prompt(t, a, "go")
					c.want = []string{"go", "transfer 100"}
				} else {
					for _, err := range a.Run(t.Context()) {
						if err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := a.Suspend(); err != nil {
					t.Fatal(err)
				}
				check := func(what string, items []transcript.Encoded) {
					t.Helper()
					var got []string
					for _, e := range items {
						if e.Role() == transcript.RoleUser {
							if text := e.Text(); text != "" {
								got = append(got, text)
							}
						}
					}
					if len(got) != len(c.want) {
						t.Errorf("%s: %q, want %q", what, got, c.want)
						return
					}
					for i := range got {
						if got[i] != c.want[i] {
							t.Errorf("%s: %q, want %q", what, got, c.want)
						}
					}
				}
				check("in memory", a.Snapshot().Items)
				r, err := s.Restore(t.Context(), session.RestoreOptions{SessionID: "x"})
				if err != nil {
					t.Fatal(err)
				}
				check("recorded", r.Transcript.Items())
				if n := len(r.State.Queue); n > 0 {
					t.Errorf("%d items wait for their turn", n)
				}
				if err := r.Log.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// slowStore is a store whose appends wait until they are released.
type slowStore struct {
	*memory.Store
	gate atomic.Pointer[chan struct{}]
}

func (s *slowStore) Append(ctx context.Context, id string, b session.Batch) error {
	if gate := s.gate.Load(); gate != nil {
		<-*gate
	}
	return s.Store.Append(ctx, id, b)
}

// A slow append does not block other calls.
func TestSlowAppendDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{Store: memory.New()}
		stopped := make(chan struct{})
		started := make(chan struct{})
		long := probe{name: "Long", run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			close(started)
			<-ctx.Done()
			close(stopped)
			return tool.Text("x"), nil
		}}
		a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "Long", `{}`)}}), agent.Options{
			Sessions: session.New(store, nil), Session: session.RestoreOptions{SessionID: "x"},
			Tools: registry(t, long), Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}},
		})
		done := make(chan error, 5)
		go func() {
			_, err := a.Prompt(t.Context(), "go")
			done <- err
		}()
		<-started
		once := func(id string) error {
			_, err := a.QueueNotificationOnce(t.Context(), id, transcript.Text{Text: "news"})
			return err
		}
		if err := once("note"); err != nil {
			t.Fatal(err)
		}
		gate := make(chan struct{})
		store.gate.Store(&gate)
		go func() { done <- a.Submit(t.Context(), transcript.Text{Text: "more"}) }()
		go func() { done <- a.QueueNotification(t.Context(), transcript.Text{Text: "news"}) }()
		go func() { done <- once("other") }()
		go func() { done <- a.SetMode(t.Context(), policy.ModeAcceptEdits, "test") }()
		synctest.Wait()
		for name, do := range map[string]func(){
			"Snapshot":      func() { a.Snapshot() },
			"SessionID":     func() { a.SessionID() },
			"Mode":          func() { a.Mode() },
			"Guards":        func() { a.Guards().Grants() },
			"SetTools":      func() { a.SetTools(registry(t, long)) },
			"Interrupt":     func() { a.Interrupt() },
			"SetCanUseTool": func() { a.SetCanUseTool(nil) },
			"TellOnce, of what it knows": func() {
				if err := once("note"); err != nil {
					t.Error(err)
				}
			},
		} {
			back := make(chan struct{})
			go func() {
				do()
				close(back)
			}()
			synctest.Wait()
			select {
			case <-back:
			default:
				t.Errorf("%s waits for the store", name)
			}
		}
		synctest.Wait()
		select {
		case <-stopped:
		default:
			t.Error("the notification waited for the slow store")
		}
		store.gate.Store(nil)
		close(gate)
		for range 5 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}
