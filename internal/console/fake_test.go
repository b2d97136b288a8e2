package console_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

type doc = map[string]any

// event is a record as GET …/events returns it.
type event struct {
	Seq     int64           `json:"seq"`
	ID      string          `json:"id"`
	Time    string          `json:"time"`
	Kind    string          `json:"kind"`
	Agent   string          `json:"agent,omitempty"`
	Session string          `json:"session,omitempty"`
	Payload json.RawMessage `json:"payload"`
}

// fake implements docs/reference/http.md in memory, so that a test can put a page into any state.
type fake struct {
	mu             sync.Mutex
	changed        chan struct{} // closed and replaced after each change
	meta           map[string]doc
	order          []string
	events         map[string][]event
	requests       []doc
	runs           map[string]doc
	grants         map[string][]doc
	calls          []string // requests that changed something: "POST /v1/… body"
	scopes         []string
	workspaces     *fakeWorkspaces
	down           bool    // answer all requests with 503
	decisionStatus float64 // status that rejects decisions; 0: they are accepted
}

func newFake(t *testing.T) *fake {
	f := &fake{
		changed: make(chan struct{}), meta: map[string]doc{}, events: map[string][]event{}, runs: map[string]doc{},
		grants: map[string][]doc{}, scopes: []string{"admin", "approve", "read", "run"}, workspaces: newFakeWorkspaces(),
	}
	f.load(t, "build", "waiting")
	f.load(t, "edit", "interrupted")
	return f
}

// load reads a session from testdata.
func (f *fake) load(t *testing.T, id, run string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", id+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var list []event
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		var e event
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	f.add(id, doc{"cwd": "/src/calendar", "model": "demo", "git_branch": "main", "run": run, "first_prompt": "Find out why the month test fails, and mend it."}, list)
	f.runs[id] = doc{"runId": id, "sessionId": id, "status": run, "strategyName": "agent", "agents": []string{"agent"}, "cwd": "/src/calendar", "mode": "acceptEdits", "segment": 1, "startedAt": time.Now().UTC(), "completedAt": nil, "questions": 1, "lastSeq": len(list)}
}

// add adds a session with events, and the open approval requests among them.
func (f *fake) add(id string, meta doc, list []event) {
	now := time.Now().UTC()
	m := doc{"id": id, "created_at": now.Add(-time.Hour), "updated_at": now.Add(-time.Minute), "message_count": len(list) / 3, "size": 4096, "head": len(list), "head_digest": "ab", "questions": 0}
	maps.Copy(m, meta)
	if m["status"] == nil {
		m["status"] = m["run"] // nothing is waiting
	}
	f.meta[id], f.events[id] = m, list
	f.order = append(f.order, id)
	answered := map[string]bool{}
	for _, e := range list {
		if e.Kind == "approval.resolved" {
			var p struct{ ID string }
			_ = json.Unmarshal(e.Payload, &p)
			answered[p.ID] = true
		}
	}
	for _, e := range list {
		if e.Kind != "approval.asked" {
			continue
		}
		var q doc
		_ = json.Unmarshal(e.Payload, &q)
		if id, _ := q["id"].(string); !answered[id] {
			f.ask(q)
		}
	}
}

// ask adds an open approval request.
func (f *fake) ask(q doc) {
	id := q["session_id"].(string)
	base := doc{
		"reason": "policy-ask", "mode": "default", "cwd": "/src/calendar", "sandbox": "none", "asked_at": time.Now().UTC().Add(-75 * time.Second),
		"digest": "digest-" + fmt.Sprint(q["id"]), "why": `Permission required for tool "Bash" in default mode (command)`, "by": "mode default",
	}
	maps.Copy(base, q)
	base["asked_at"] = time.Now().UTC().Add(-time.Duration(90-len(f.requests)) * time.Second)
	base["state"], base["run_id"], base["title"] = "pending", id, f.meta[id]["title"]
	f.requests = append(f.requests, base)
	if m := f.meta[id]; m != nil {
		m["questions"] = m["questions"].(int) + 1
	}
	f.wake()
}

func (f *fake) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// update runs a function with the lock held.
func (f *fake) update(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fake) pending() []doc {
	out := []doc{}
	for _, q := range f.requests {
		if q["state"] == "pending" {
			out = append(out, q)
		}
	}
	return out
}

func (f *fake) request(id string) doc {
	for _, q := range f.requests {
		if q["id"] == id {
			return q
		}
	}
	return nil
}

// answer answers an approval request and appends the record.
func (f *fake) answer(q, a doc) {
	a["id"], a["at"] = q["id"], time.Now().UTC()
	q["answer"], q["state"] = a, "denied"
	if strings.HasPrefix(fmt.Sprint(a["decision"]), "allow") {
		q["state"] = "approved"
	}
	id := q["session_id"].(string)
	f.meta[id]["questions"] = f.meta[id]["questions"].(int) - 1
	f.append(id, "approval.resolved", a)
}

func (f *fake) append(id, kind string, payload any) {
	b, _ := json.Marshal(payload)
	seq := int64(len(f.events[id]) + 1)
	f.events[id] = append(f.events[id], event{Seq: seq, ID: fmt.Sprintf("%s-%d", id, seq), Time: time.Now().UTC().Format(time.RFC3339Nano), Kind: kind, Payload: b})
	f.meta[id]["head"] = seq
	f.wake()
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", f.page)
	for route, h := range map[string]func(*http.Request, doc) (int, any){
		"GET /v1/info": f.info, "GET /readyz": fixed(doc{"status": "ok", "checks": []doc{}}), "GET /health": fixed(doc{"status": "ok", "uptime": 4210, "activeRuns": 1, "connectedClients": 2}),
		"GET /v1/sessions": f.sessions, "GET /v1/sessions/{id}": f.session, "PATCH /v1/sessions/{id}": f.rename, "GET /v1/runs/{id}": f.run,
		"POST /v1/runs/{id}/{verb}": f.runAction, "POST /v1/sessions/{id}/fork": f.fork, "GET /v1/sessions/{id}/grants": f.listGrants,
		"DELETE /v1/sessions/{id}/grants/{grant}": f.revoke, "GET /v1/sessions/{id}/policy": file("policy.json"), "GET /v1/policy": file("policy.json"),
		"POST /v1/policy/test": fixed(doc{"verdict": "ask", "reason": "rule Bash(git push:*) asks about it", "by": "rules", "trace": []doc{{"policy": "rules", "effect": "ask", "reason": "rule Bash(git push:*) asks"}}}),
		"GET /v1/audit":        f.audit, "POST /v1/audit/verify": file("verify.json"), "GET /v1/doctor": file("doctor.json"),
		"GET /v1/approvals/{id}": f.approval, "POST /v1/approvals/{id}/decision": f.decide, "POST /v1/login": f.login, "POST /v1/logout": fixed(doc{}),
		"GET /v1/tokens": fixed(doc{"items": []doc{{"id": "t1", "name": "ci", "scopes": []string{"read"}, "created_at": time.Now().Add(-time.Hour), "by": "ann"}}}),
	} {
		mux.HandleFunc(route, f.json(h))
	}
	f.workspaces.routes(f, mux)
	mux.HandleFunc("GET /v1/approvals", f.approvals)
	mux.HandleFunc("GET /v1/sessions/{id}/events", f.log)
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	w.Header().Set("Cache-Control", "no-store")
	f.mu.Lock()
	down := f.down
	f.mu.Unlock()
	if c, err := r.Cookie("in"); strings.HasPrefix(r.URL.Path, "/v1/") && r.URL.Path != "/v1/login" && (err != nil || c.Value != "yes") {
		problem(w, 401, "unauthenticated", "no credential", "holdfast daemon open")
		return
	}
	if down {
		problem(w, 503, "interrupted", "the daemon is going down", "")
		return
	}
	if r.Method != http.MethodGet && r.URL.Path != "/v1/login" && r.Header.Get("X-Holdfast-Csrf") != "csrf-1" {
		problem(w, 403, "denied", "the CSRF token is missing", "")
		return
	}
	mux.ServeHTTP(w, r)
}

func problem(w http.ResponseWriter, status int, code, detail, hint string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc{"status": status, "code": code, "title": http.StatusText(status), "detail": detail, "hint": hint})
}

// json answers with the result of h, and records requests that change something.
func (f *fake) json(h func(*http.Request, doc) (int, any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body := doc{}
		_ = json.Unmarshal(raw, &body)
		f.mu.Lock()
		defer f.mu.Unlock()
		if r.Method != http.MethodGet {
			f.calls = append(f.calls, r.Method+" "+r.URL.RequestURI()+" "+string(raw))
		}
		status, out := h(r, body)
		if p, ok := out.(doc); ok && status >= 400 && p["detail"] != nil {
			w.Header().Set("Content-Type", "application/problem+json")
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		if r.URL.Path == "/v1/login" && status == 200 {
			http.SetCookie(w, &http.Cookie{Name: "in", Value: "yes", Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		}
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_ = json.NewEncoder(w).Encode(out)
		}
	}
}

func number(r *http.Request, name string, otherwise int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return otherwise
	}
	return n
}
