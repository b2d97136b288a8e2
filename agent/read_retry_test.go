package agent_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// unreadable is a store that cannot be read while it is unavailable.
type unreadable struct {
	*memory.Store
	away  atomic.Bool
	reads atomic.Int64
}

func (s *unreadable) List(ctx context.Context, q session.Query) (session.Page, error) {
	if s.reads.Add(1); s.away.Load() {
		return session.Page{}, &session.Error{Op: "list", Err: session.ErrBusy}
	}
	return s.Store.List(ctx, q)
}

func (s *unreadable) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	if s.away.Load() {
		return func(yield func(session.Record, error) bool) {
			yield(session.Record{}, &session.Error{Op: "read", Err: session.ErrBusy})
		}
	}
	return s.Store.Read(ctx, id, r)
}

// Failed reads while an approval request waits are retried, and an answer from here or another program
// is applied. After ten minutes the run ends with the store's error.
func TestReadRetryDuringApproval(t *testing.T) {
	for name, c := range map[string]struct {
		away            time.Duration
		answerElsewhere bool
		ends            bool
	}{
		"answered here":           {away: 2 * time.Minute},
		"answered elsewhere":      {away: 2 * time.Minute, answerElsewhere: true},
		"store stays unavailable": {away: time.Hour, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &unreadable{Store: memory.New()}
				s := session.New(store, nil)
				ran := 0
				a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "Do", `{}`)}}, step{text: "done"}), agent.Options{
					Sessions: s, Session: session.RestoreOptions{SessionID: "x"}, Permissions: agent.Permissions{
						Config: policy.Config{Mode: policy.ModeDefault},
						Ask: func(ctx context.Context, q approval.Request) (approval.Answer, error) {
							store.away.Store(true)
							time.AfterFunc(c.away, func() {
								store.away.Store(false)
								if c.answerElsewhere {
									if _, err := approval.Resolve(context.Background(), s, "x", approval.Answer{RequestID: q.ID, Decision: approval.Allow, Actor: "ann"}); err != nil {
										t.Error(err)
									}
								}
							})
							if c.answerElsewhere || c.ends {
								<-ctx.Done()
								return approval.Answer{}, ctx.Err()
							}
							time.Sleep(c.away / 2)
							return approval.Answer{Decision: approval.Allow}, nil
						},
					},
					Tools: registry(t, probe{name: "Do", run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
						ran++
						return tool.Text("did"), nil
					}}),
					Sleep: func(_ context.Context, d time.Duration) error { time.Sleep(d); return nil },
				})
				began := time.Now()
				r, err := a.Prompt(t.Context(), "go")
				if c.ends {
					if err == nil || !session.IsTransient(err) || time.Since(began) > 25*time.Minute {
						t.Errorf("after %v: %v, %v", time.Since(began), r, err)
					}
					time.Sleep(time.Hour)
				} else if err != nil || r.Text != "done" || ran != 1 {
					t.Errorf("%+v, %v; ran %d times", r, err, ran)
				}
				if n := store.reads.Load(); n > 2000 {
					t.Errorf("%d looks", n)
				}
				_ = a.Close()
			})
		})
	}
}
