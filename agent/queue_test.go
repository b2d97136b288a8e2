package agent_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func opensTurn(b session.Batch) bool {
	return slices.ContainsFunc(b.Records, func(r session.Record) bool { return r.Kind == record.KindTurnOpened })
}

// If the store fails while a turn takes in queued input, the agent stops. The next agent has all of the
// input, once.
func TestTakeQueueStoreFails(t *testing.T) {
	next := func(t *testing.T, a *agent.Agent) error { _, err := a.Driver(nil).Next(t.Context()); return err }
	run := func(t *testing.T, a *agent.Agent) error {
		for _, err := range a.Run(t.Context()) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for name, takes := range map[string]func(*testing.T, *agent.Agent) error{"by Run": run, "by Next": next} {
		for when, written := range map[string]bool{"before it is written": false, "after it is written": true} {
			t.Run(name+" "+when, func(t *testing.T) {
				inner, failed := memory.New(), false
				store := &faulty{inner, func(b session.Batch) (bool, bool) {
					if failed || !opensTurn(b) {
						return false, false
					}
					failed = true
					return !written, written
				}}
				a := newAgent(t, play(t, step{text: "said when it is written"}), agent.Options{Sessions: session.New(store, nil)})
				if err := a.Submit(t.Context(), transcript.Text{Text: "a message"}); err != nil {
					t.Fatal(err)
				}
				if err := takes(t, a); (err == nil) != written {
					t.Fatalf("written: %v, and got %v", written, err)
				}
				if err := takes(t, a); !written && (err == nil || errors.Is(err, agent.ErrNoInput)) {
					t.Errorf("the agent continues without the message: %v", err)
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
				n := 0
				items := a.Snapshot().Items
				if !written {
					items = resumed(t, inner, a.SessionID())
				}
				for _, e := range items {
					if e.Text() == "a message" {
						n++
					}
				}
				if n != 1 {
					t.Errorf("the message is there %d times", n)
				}
			})
		}
	}
}

// A notification during the opening of the session is durable or rejected.
func TestQueueNotificationDuringOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opening, opened := make(chan struct{}), make(chan struct{})
		store := memory.New()
		a := newAgent(t, play(t, step{text: "hello"}), agent.Options{Sessions: session.New(&faulty{store, func(session.Batch) (bool, bool) {
			select {
			case <-opened:
			default:
				close(opening)
				<-opened
			}
			return false, false
		}}, nil)})
		done := make(chan error, 1)
		go func() {
			_, err := a.Prompt(t.Context(), "begin")
			done <- err
		}()
		<-opening
		came := make(chan error, 1)
		go func() { came <- a.QueueNotification(t.Context(), transcript.Text{Text: "news"}) }()
		synctest.Wait()
		select {
		case err := <-came:
			if !errors.Is(err, agent.ErrRunning) {
				t.Errorf("accepted before the session was open: %v", err)
			}
		default:
			t.Error("Tell waits")
		}
		close(opened)
		if err := errors.Join(<-done, a.Close()); err != nil {
			t.Fatal(err)
		}
	})
}

// counted is a store that counts its reads.
type counted struct {
	session.Store
	reads int
}

func (c *counted) Unwrap() session.Store { return c.Store }

func (c *counted) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	c.reads++
	return c.Store.Read(ctx, id, r)
}

// QueueNotificationOnce knows earlier ids after a restart and a compaction, without reading the log.
func TestQueueNotificationOnceAfterRestart(t *testing.T) {
	store := &counted{Store: memory.New()}
	tell := func(a *agent.Agent, id string) bool {
		before := store.reads
		reported, err := a.QueueNotificationOnce(t.Context(), id, transcript.Text{Text: long})
		if err != nil || store.reads != before {
			t.Errorf("%s: %d reads, %v", id, store.reads-before, err)
		}
		return reported
	}
	o := agent.Options{Sessions: session.New(store, nil), Session: session.RestoreOptions{SessionID: "s"}, Compact: agent.Compact{KeepTokens: 10}}
	a := newAgent(t, play(t, step{text: long}, step{text: "more"}, step{text: "the story"}), o)
	prompt(t, a, "begin")
	if !tell(a, "one") || tell(a, "one") {
		t.Error("one is not queued exactly once")
	}
	answerQueue(t, a)
	if _, _, err := a.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if !tell(a, "two") {
		t.Error("two is not queued")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := newAgent(t, play(t), o)
	if _, err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tell(b, "one") || tell(b, "two") || !tell(b, "three") {
		t.Error("after the restart one or two is queued again, or three is not")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
