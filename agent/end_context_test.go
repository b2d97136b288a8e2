package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// deadStore is a store that becomes unavailable: it returns errors or does not return.
type deadStore struct {
	*memory.Store
	gone, hangs atomic.Bool
}

func (s *deadStore) check(ctx context.Context, op string) error {
	if s.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.gone.Load() {
		return &session.Error{Op: op, Err: session.ErrUnavailable}
	}
	return nil
}

func (s *deadStore) Append(ctx context.Context, id string, b session.Batch) error {
	if err := s.check(ctx, "append"); err != nil {
		return err
	}
	return s.Store.Append(ctx, id, b)
}

func (s *deadStore) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := s.check(ctx, "list"); err != nil {
		return session.Page{}, err
	}
	return s.Store.List(ctx, q)
}

func (s *deadStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	if err := s.check(ctx, "read"); err != nil {
		return func(yield func(session.Record, error) bool) { yield(session.Record{}, err) }
	}
	return s.Store.Read(ctx, id, r)
}

func (s *deadStore) Renew(ctx context.Context, id string, l session.Lease) error {
	if err := s.check(ctx, "renew"); err != nil {
		return err
	}
	return s.Store.Renew(ctx, id, l)
}

func (s *deadStore) Release(ctx context.Context, id string, l session.Lease) error {
	if err := s.check(ctx, "release"); err != nil {
		return err
	}
	return s.Store.Release(ctx, id, l)
}

// An unavailable store does not keep an agent from ending. Interrupt, Close and the end of the context
// take effect within half a minute, and the error says that the last records may not be stored.
func TestCloseWithStoreDown(t *testing.T) {
	ends := map[string]func(a *agent.Agent, cancel func()) error{
		"cancelled":   func(_ *agent.Agent, cancel func()) error { cancel(); return nil },
		"interrupted": func(a *agent.Agent, _ func()) error { a.Interrupt(); return nil },
		"closed":      func(a *agent.Agent, _ func()) error { return a.Close() },
		"left":        func(a *agent.Agent, _ func()) error { return a.Suspend() },
	}
	for name, end := range ends {
		for _, at := range []string{"an approval waits", "a tool runs", "a background task runs"} {
			for _, hangs := range []bool{false, true} {
				t.Run(name+", "+at+map[bool]string{true: ", it hangs"}[hangs], func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						inner := &deadStore{Store: memory.New()}
						store := retry.New(inner, nil)
						begun := make(chan struct{})
						stuck := func(ctx context.Context) error {
							close(begun)
							<-ctx.Done()
							return ctx.Err()
						}
						o := agent.Options{
							Sessions: session.New(store, nil), Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}, Background: &agent.Background{},
							Tools: registry(t, probe{name: "Do", run: func(ctx context.Context, _ *tool.Call) (tool.Result, error) { return tool.Result{}, stuck(ctx) }}),
							Sleep: func(ctx context.Context, d time.Duration) error { time.Sleep(d); return ctx.Err() },
						}
						switch at {
						case "an approval waits":
							o.Permissions.Config.Mode = policy.ModeDefault
							o.Permissions.Ask = func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
								return approval.Answer{}, stuck(ctx)
							}
						case "a background task runs":
							o.Tools = registry(t, &slow{probe: probe{name: "Do", run: func(ctx context.Context, _ *tool.Call) (tool.Result, error) { return tool.Result{}, stuck(ctx) }}})
						}
						a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "Do", `{}`)}}, step{text: "done"}), o)
						ctx, cancel := context.WithCancel(t.Context())
						over := make(chan error, 1)
						go func() {
							_, err := a.Prompt(ctx, "go")
							over <- err
						}()
						<-begun
						synctest.Wait()
						inner.gone.Store(!hangs)
						inner.hangs.Store(hangs)
						time.Sleep(10 * time.Second)
						began := time.Now()
						err := end(a, cancel)
						err = errors.Join(err, <-over)
						if took := time.Since(began); took > 30*time.Second {
							t.Errorf("it ended after %v", took)
						}
						began = time.Now()
						if failed := a.Close(); !errors.Is(failed, agent.ErrClosed) {
							err = errors.Join(err, failed)
						}
						if took := time.Since(began); took > 30*time.Second {
							t.Errorf("it was closed after %v", took)
						}
						if err == nil || !strings.Contains(err.Error(), "may not be stored") {
							t.Errorf("got %v", err)
						}
						cancel()
						_ = store.Close()
						time.Sleep(time.Hour)
					})
				})
			}
		}
	}
}
