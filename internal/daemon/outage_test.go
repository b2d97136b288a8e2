package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/session"
)

// faultyStore is a store that fails on demand: for everything, or only for writes.
type faultyStore struct {
	session.Store
	all, writes atomic.Pointer[session.Error]
}

func (s *faultyStore) Unwrap() session.Store { return s.Store }

func (s *faultyStore) fault(write bool) error {
	if e := s.all.Load(); e != nil {
		return e
	}
	if e := s.writes.Load(); e != nil && write {
		return e
	}
	return nil
}

func (s *faultyStore) Append(ctx context.Context, id string, b session.Batch) error {
	if err := s.fault(true); err != nil {
		return err
	}
	return s.Store.Append(ctx, id, b)
}

func (s *faultyStore) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := s.fault(false); err != nil {
		return session.Page{}, err
	}
	return s.Store.List(ctx, q)
}

func (s *faultyStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	if err := s.fault(false); err != nil {
		return func(yield func(session.Record, error) bool) { yield(session.Record{}, err) }
	}
	return s.Store.Read(ctx, id, r)
}

// Check returns the error of a write.
func (s *faultyStore) Check(ctx context.Context) error {
	return errors.Join(s.fault(true), session.New(s.Store, nil).Check(ctx))
}

var (
	unavailableError = &session.Error{Op: "x", Err: session.ErrUnavailable, Detail: "connection refused"}
	fullError        = &session.Error{Op: "append", Err: session.ErrFull}
)

func newFaultyEnv(t *testing.T) (*httpEnv, *faultyStore) {
	t.Helper()
	store := &faultyStore{}
	w := newHTTPEnvOn(t, func(s session.Store) session.Store { store.Store = s; return store })
	w.api.board.patience = 200 * time.Millisecond
	t.Cleanup(func() { store.all.Store(nil); store.writes.Store(nil) })
	return w, store
}

// wantTemporary checks that a request is rejected temporarily.
func (w *httpEnv) wantTemporary(status int, code, method, path, body string, scope api.Scope) {
	w.t.Helper()
	a := w.want(status, nil, method, path, body, w.as(scope))
	if p := a.problem(w.t); p.Code != code || a.header.Get("Retry-After") == "" {
		w.t.Errorf("%s %s: %s, Retry-After %q", method, path, a, a.header.Get("Retry-After"))
	}
}

// While the store is unavailable, requests are rejected temporarily, streams end with the reason,
// and a waiting run and its approval request stay.
func TestStoreUnavailable(t *testing.T) {
	w, store := newFaultyEnv(t)
	_, q := w.startWaitingRun("r1")
	events, board := w.listen("/v1/sessions/r1/events"), w.listen("/v1/approvals")
	events.until("caught_up")
	board.until("approvals")
	store.all.Store(unavailableError)
	for name, l := range map[string]*listener{"events": events, "approvals": board} {
		if causes := l.until("failed"); !strings.Contains(causes[len(causes)-1].data, `"code":"unavailable"`) {
			t.Errorf("%s: %v", name, causes)
		}
		if e, more := l.next(); more {
			t.Errorf("%s continues: %v", name, e)
		}
	}
	eventually(t, "not ready", func() bool { return w.do("GET", "/readyz", "").status == 503 })
	w.wantTemporary(503, "unavailable", "POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"allow"}`, api.ScopeApprove)
	w.wantTemporary(503, "unavailable", "POST", "/v1/runs", `{"cwd":"/","input":"x"}`, api.ScopeRun)
	w.wantTemporary(503, "unavailable", "GET", "/v1/sessions", "", api.ScopeRead)
	w.wantTemporary(503, "unavailable", "GET", "/v1/sessions/r1/events", "", api.ScopeRead)
	store.all.Store(nil)
	w.waitStatus("r1", api.StatusWaiting)
	if got := w.waitApproval("r1", "git push"); got.ID != q.ID {
		t.Errorf("%+v", got)
	}
	w.want(200, nil, "POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"allow"}`, w.as(api.ScopeApprove))
	w.waitStatus("r1", api.StatusCompleted)
	if w.mu.Lock(); len(w.ran) != 1 {
		t.Errorf("ran %v", w.ran)
	}
	w.mu.Unlock()
	eventually(t, "ready", func() bool { return w.do("GET", "/readyz", "").status == 200 })
}

// The log reports once that the store is not ready, however many probes ask.
func TestNotReadyIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	store := &faultyStore{}
	w := newHTTPEnvOn(t, func(s session.Store) session.Store { store.Store = s; return store }, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	ask := func(status int) {
		t.Helper()
		eventually(t, "the status of /readyz", func() bool { return w.do("GET", "/readyz", "").status == status })
		w.do("GET", "/readyz", "")
	}
	for range 2 {
		ask(200)
		store.all.Store(unavailableError)
		ask(503)
		store.all.Store(nil)
	}
	ask(200)
	if n := strings.Count(log.String(), "the store is not ready"); n != 2 {
		t.Errorf("%d times in\n%s", n, log.String())
	}
}

// While the disk is full, writes are rejected with 507, and the approval request stays.
func TestStoreWithoutSpace(t *testing.T) {
	w, store := newFaultyEnv(t)
	_, q := w.startWaitingRun("r1")
	store.writes.Store(fullError)
	w.wantTemporary(507, "no_space", "POST", "/v1/runs", `{"cwd":"/","input":"x"}`, api.ScopeRun)
	w.wantTemporary(507, "no_space", "POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"allow"}`, api.ScopeApprove)
	eventually(t, "not ready", func() bool { return w.do("GET", "/readyz", "").status == 503 })
	w.waitStatus("r1", api.StatusWaiting)
	store.writes.Store(nil)
	w.want(200, nil, "POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"allow"}`, w.as(api.ScopeApprove))
	w.waitStatus("r1", api.StatusCompleted)
}

// A daemon that is shutting down rejects new runs.
func TestDrainingRefusesRuns(t *testing.T) {
	w := newHTTPEnv(t)
	must(t, w.runs.Close())
	w.wantTemporary(503, "unavailable", "POST", "/v1/runs", `{"cwd":"/","input":"x"}`, api.ScopeRun)
}

// A WebSocket with a subscription is closed if the run's log cannot be read for a while.
func TestSocketStoreUnavailable(t *testing.T) {
	store := &faultyStore{}
	w := &daemonEnv{
		t: t, home: t.TempDir(), cwd: t.TempDir(), plays: map[string]string{"writer": "steps: [{text: x}]"}, held: make(chan struct{}),
		outageDelay: 100 * time.Millisecond,
	}
	w.openStore()
	store.Store, w.store = w.store, store
	w.begin()
	t.Cleanup(func() {
		w.stop()
		must(t, w.closeStore())
	})
	c := w.ann()
	id := c.prepare(w.cwd)
	c.send(`{"type":"start_run","runId":"` + id + `","input":"go"}`)
	c.until("strategy_completed")
	defer store.all.Store(nil)
	store.all.Store(unavailableError)
	for m := c.next(); ; m = c.next() {
		if m["type"] == "error" {
			if m["code"] != string(wire.CodeUnavailable) {
				t.Errorf("%v", m)
			}
			break
		}
	}
	if code := c.closeCode(); code != websocket.StatusTryAgainLater {
		t.Errorf("closed with %v", code)
	}
}

// An answer to an approval of an interrupted run starts nothing by itself; with continue, the run
// continues.
func TestAnswerContinues(t *testing.T) {
	t.Parallel()
	w := beginDaemon(t, map[string]string{"writer": pushScript}, nil)
	c := w.ann()
	id := c.prepare(w.cwd)
	c.send(`{"type":"start_run","runId":"` + id + `","input":"go"}`)
	question, _ := c.until("request_permission")["requestId"].(string)
	w.restart()
	decide := func(token, more string) (int, api.Approval) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.address+"/v1/approvals/"+question+"/decision", strings.NewReader(`{"decision":"allow"`+more+`}`))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		must(t, err)
		defer res.Body.Close()
		var a api.Approval
		must(t, json.NewDecoder(res.Body).Decode(&a))
		return res.StatusCode, a
	}
	if status, _ := decide(w.token(api.ScopeApprove), `,"continue":true`); status != http.StatusForbidden {
		t.Errorf("without the scope run: %d", status)
	}
	token := w.token(api.ScopeRun, api.ScopeApprove)
	if status, a := decide(token, ""); status != http.StatusOK || a.State != routes.StateApproved || a.Run != string(api.StatusInterrupted) {
		t.Errorf("%d %+v", status, a)
	}
	if ran := w.did(); len(ran) != 0 {
		t.Errorf("ran %v", ran)
	}
	if status, a := decide(token, `,"continue":true`); status != http.StatusOK || a.State != routes.StateApproved || a.Run == string(api.StatusInterrupted) {
		t.Errorf("%d %+v", status, a)
	}
	w.eventually("it ran", func() bool { return len(w.did()) == 1 })
}
