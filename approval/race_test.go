package approval_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// stores opens each store twice, as two programs would; the memory store is shared.
func stores(t *testing.T) map[string][2]session.Store {
	t.Helper()
	dir := t.TempDir()
	m := memory.New()
	all := map[string][2]session.Store{"memory": {m, m}}
	var files, dbs [2]session.Store
	for i := range 2 {
		f := must(file.Open(filepath.Join(dir, "files"), nil))(t)
		db := must(sqlite.Open(filepath.Join(dir, "sessions.db"), nil))(t)
		t.Cleanup(func() { f.Close(); db.Close() })
		files[i], dbs[i] = f, db
	}
	all["file"], all["sqlite"] = files, dbs
	return all
}

// Several clients in two programs answer each request concurrently while the session continues: one
// wins, the others get the winner, and each waiting client gets the winner.
func TestConcurrentAnswers(t *testing.T) {
	for name, both := range stores(t) {
		t.Run(name, func(t *testing.T) {
			here, there := session.New(both[0], nil), session.New(both[1], nil)
			l := newLog(t, here, "s")
			for round := range 5 {
				q := put(t, l, newRequest(fmt.Sprint("q", round), "ls"))
				winners := contest(t, here, there, l, q)
				for _, w := range winners[1:] {
					if d := cmp.Diff(winners[0], w); d != "" {
						t.Errorf("two winners of %s\n%s", q.ID, d)
					}
				}
				if got := answers(t, there, "s"); len(got) != round+1 || cmp.Diff(winners[0], got[round]) != "" {
					t.Errorf("the record of %s is %+v", q.ID, got)
				}
				finishUse(t, l, q)
			}
			if r := must(there.Verify(t.Context(), "s"))(t); !r.OK() || r.Meta.OpenApprovals != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// contest lets many clients answer and many wait, and returns the answer that each got.
func contest(t *testing.T, here, there *session.Sessions, l *session.Log, q approval.Request) []approval.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var (
		mu      sync.Mutex
		winners []approval.Answer
		wg      sync.WaitGroup
	)
	received := func(a approval.Answer, err error) {
		if won, ok := errors.AsType[*approval.AnsweredError](err); ok {
			a, err = won.First, nil
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Error(err)
			return
		}
		winners = append(winners, a)
	}
	decisions := []approval.Decision{approval.Allow, approval.Deny, approval.AllowSession, approval.DenySession}
	for i := range 8 {
		s := []*session.Sessions{here, there}[i%2]
		wg.Go(func() {
			received(approval.Resolve(ctx, s, "s", approval.Answer{RequestID: q.ID, Decision: decisions[i%4], Actor: fmt.Sprint("person ", i)}))
		})
	}
	for _, s := range []*session.Sessions{here, there} {
		wg.Go(func() { received(approval.Wait(ctx, s, "s", q)) })
		wg.Go(func() {
			if err := s.Tag(ctx, "s", q.ID); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if _, err := l.Refresh(ctx); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if len(winners) != 10 {
		t.Fatalf("%d of 10 got an answer", len(winners))
	}
	return winners
}

// A request stays open after its process has ended: another program finds it and answers it, and
// the resumed process gets the answer.
func TestRequestAfterProcessExit(t *testing.T) {
	for name, both := range stores(t) {
		t.Run(name, func(t *testing.T) {
			here, there := session.New(both[0], nil), session.New(both[1], nil)
			l := newLog(t, here, "s")
			q := put(t, l, newRequest("q", "ls")) // then its process ends, with its lease
			open := must(approval.Pending(t.Context(), there, ""))(t)
			if d := cmp.Diff([]approval.Request{q}, open); d != "" {
				t.Fatal(d)
			}
			answer := must(approval.Resolve(t.Context(), there, "s", approval.Answer{RequestID: "q", Decision: approval.Allow, Actor: "ann", Via: "cli"}))(t)
			r := must(there.Restore(t.Context(), session.RestoreOptions{SessionID: "s", Takeover: true}))(t)
			defer r.Log.Close()
			if !r.Waiting || len(r.State.OpenApprovals) != 0 || len(r.State.Answered) != 1 || !strings.Contains(string(r.State.Answered[0].Asked.Payload), `"use_id":"`+q.Use+`"`) {
				t.Fatalf("%+v", r.State)
			}
			if got := must(approval.Wait(t.Context(), here, "s", q))(t); cmp.Diff(answer, got) != "" {
				t.Error(cmp.Diff(answer, got))
			}
			if _, err := l.Refresh(t.Context()); err != nil {
				t.Errorf("an answer took over the lease: %v", err)
			}
		})
	}
}
