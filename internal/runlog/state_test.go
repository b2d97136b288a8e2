package runlog

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The state of a session follows from its log and its lease; reading it takes no lease.
func TestStateOfRuns(t *testing.T) {
	status := func(s string) session.Draft {
		return session.Draft{Kind: record.KindRunEvent, Payload: json.RawMessage(`{"event":"x","status":"` + s + `"}`)}
	}
	input := func(what, id string) session.Draft {
		return session.Draft{Kind: record.KindRunEvent, Payload: json.RawMessage(`{"event":"input_` + what + `","input_id":"` + id + `"}`)}
	}
	opened := session.Draft{Kind: record.KindTurnOpened, Payload: json.RawMessage(`{"turn":"t"}`)}
	closed := session.Draft{Kind: record.KindTurnClosed, Payload: json.RawMessage(`{"turn":"t","reason":"completed"}`)}
	finished := session.Draft{Kind: record.KindToolFinished, Payload: json.RawMessage(`{"use":"u","tool":"Bash"}`)}
	news := session.ItemDraft(transcript.UserText("it has ended").MustEncode(), true, nil)
	for _, c := range []struct {
		name   string
		drafts []session.Draft
		held   string // state while a process has it open
		free   string
	}{
		{"new", nil, Idle, Idle},
		{"in a turn", []session.Draft{opened}, Running, Crashed},
		{"after a turn", []session.Draft{opened, closed}, Idle, Idle},
		{"a call in the background has ended", []session.Draft{opened, closed, finished, news}, Idle, Idle},
		{"a call in the background has ended, and a turn is open", []session.Draft{opened, finished, news}, Running, Crashed},
		{"of several agents", []session.Draft{status("running"), status("")}, Running, Crashed},
		{"between two turns", []session.Draft{status("running"), opened, closed}, Running, Crashed},
		{"it wants input", []session.Draft{status("running"), opened, closed, input("asked", "1"), input("given", "1"), input("asked", "2")}, Waiting, Crashed},
		{"it was given input", []session.Draft{status("running"), input("asked", "1"), input("given", "1")}, Running, Crashed},
		{"interrupted when it wanted input", []session.Draft{status("running"), input("asked", "1"), status("interrupted")}, Idle, Idle},
		{"completed", []session.Draft{status("running"), opened, closed, status("completed")}, Idle, Idle},
		{"interrupted in a turn", []session.Draft{status("running"), opened, status("interrupted")}, Running, Crashed},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			store := memory.New()
			l, err := session.New(store, nil).Create(ctx, session.Opened{SessionID: "s", Created: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if _, err := l.Append(ctx, c.drafts...); err != nil {
				t.Fatal(err)
			}
			s := session.New(store, nil)
			for _, want := range []string{c.held, c.free} {
				m, err := s.Get(ctx, "s")
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := State(ctx, s, m, nil); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// endingStore ends the turn and releases the lease just before somebody reads the lease.
type endingStore struct {
	*memory.Store
	end func()
}

func (s *endingStore) Held(ctx context.Context, id string) (*session.Lease, error) {
	s.end()
	return s.Store.Held(ctx, id)
}

// A turn that ends while its state is read is not crashed.
func TestStateOfEndingTurn(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	l, err := session.New(store, nil).Create(ctx, session.Opened{SessionID: "s", Created: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(ctx, session.Draft{Kind: record.KindTurnOpened, Payload: json.RawMessage(`{"turn":"t"}`)}); err != nil {
		t.Fatal(err)
	}
	s := session.New(&endingStore{store, sync.OnceFunc(func() {
		if _, err := l.Append(ctx, session.Draft{Kind: record.KindTurnClosed, Payload: json.RawMessage(`{"turn":"t","reason":"completed"}`)}); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})}, nil)
	m, err := s.Get(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := State(ctx, s, m, nil); got != Idle {
		t.Errorf("%s, want %s", got, Idle)
	}
}

// A session that waits for an approval of its sub-agent is "waiting", whether its own turn is open or not.
func TestStateOfWaitingSubagent(t *testing.T) {
	ctx, s := t.Context(), session.New(memory.New(), nil)
	for id, owner := range map[string]string{"lead": "", "other": "", "sub": "lead", "idle": "lead"} {
		l, err := s.Create(ctx, session.Opened{SessionID: id, Owner: owner, Created: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if id != "sub" {
			continue
		}
		asked := session.Draft{Kind: record.KindApprovalAsked, Payload: json.RawMessage(`{"id":"q","use_id":"u","tool":"Bash"}`)}
		if _, err := l.Append(ctx, asked); err != nil {
			t.Fatal(err)
		}
	}
	asking, err := s.OpenApprovals(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"lead": Waiting, "sub": Waiting, "idle": Idle, "other": Idle} {
		m, err := s.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := State(ctx, s, m, asking); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
}
