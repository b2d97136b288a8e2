package daemon

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

func TestIdempotency(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "one")
	w.session("b", nil, "one")
	const key = "Idempotency-Key: k1"
	var s, again api.Session
	w.want(201, &s, "POST", "/v1/sessions/a/fork", `{"title":"x"}`, key)
	a := w.want(201, &again, "POST", "/v1/sessions/a/fork", `{"title":"x"}`, key)
	if s.ID != again.ID || a.header.Get("Idempotency-Replayed") != "true" || a.header.Get("Location") != "/v1/sessions/"+s.ID {
		t.Errorf("%s and %s, %v", s.ID, again.ID, a.header)
	}
	w.want(422, nil, "POST", "/v1/sessions/a/fork", `{"title":"y"}`, key).problem(t)
	w.want(422, nil, "POST", "/v1/sessions/b/fork", `{"title":"x"}`, key).problem(t)
	w.want(201, &again, "POST", "/v1/sessions/a/fork", `{"title":"x"}`, key, w.as(api.ScopeRun))
	if again.ID == s.ID {
		t.Error("two callers share a key")
	}
	w.want(404, nil, "POST", "/v1/sessions/x/fork", `{}`, "Idempotency-Key: k2")
	w.session("x", nil, "one")
	w.want(404, nil, "POST", "/v1/sessions/x/fork", `{}`, "Idempotency-Key: k2")
	for _, bad := range []string{strings.Repeat("x", 256), "é"} {
		w.want(400, nil, "POST", "/v1/sessions/a/fork", `{}`, "Idempotency-Key: "+bad).problem(t)
	}
	var wg sync.WaitGroup
	made := make([]*reply, 8)
	for i := range made {
		wg.Go(func() { made[i] = w.do("POST", "/v1/sessions/b/fork", `{"title":"z"}`, "Idempotency-Key: k3") })
	}
	wg.Wait()
	first := ""
	for _, a := range made {
		switch a.status {
		case 201:
			var s api.Session
			a.into(t, &s)
			if first == "" {
				first = s.ID
			}
			if s.ID != first {
				t.Errorf("two forks of one key: %s, %s", first, s.ID)
			}
		case 409:
		default:
			t.Errorf("%s", a)
		}
	}
}

// Answers with text of a session are not stored, because an erasure would miss them. A repeated
// request is not served twice; its answer is read from the session again.
func TestIdempotencyStoresNoText(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "one")
	const key = "Idempotency-Key: k1"
	posts := []struct {
		path, body string
		status     int
	}{
		{"/v1/sessions/a/fork", `{"title":"rosebud"}`, 201},
		{"/v1/runs", `{"session_id":"r","cwd":` + strconv.Quote(t.TempDir()) + `,"title":"rosebud"}`, 201},
	}
	first := make([]string, len(posts))
	for i, p := range posts {
		first[i] = w.want(p.status, nil, "POST", p.path, p.body, key+strconv.Itoa(i)).header.Get("Location")
	}
	w.startWaitingRun("q")
	w.want(200, nil, "POST", "/v1/runs/q/stop", "", key+"s")
	w.api.keys.mu.Lock()
	for id, k := range w.api.keys.responses {
		if strings.Contains(string(k.body), "rosebud") {
			t.Errorf("%q: %s", id, k.body)
		}
	}
	w.api.keys.mu.Unlock()
	fork := strings.TrimPrefix(first[0], "/v1/sessions/")
	must(t, w.sessions.Rename(t.Context(), fork, "another"))
	for i, p := range posts {
		r := w.want(p.status, nil, "POST", p.path, p.body, key+strconv.Itoa(i))
		if got := r.header.Get("Location"); got != first[i] || r.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: %s, not %s: %v", p.path, got, first[i], r.header)
		}
		if i == 0 && (strings.Contains(string(r.body), "rosebud") || !strings.Contains(string(r.body), "another")) {
			t.Errorf("%s", r.body)
		}
	}
	w.want(200, nil, "POST", "/v1/runs/q/stop", "", key+"s")
}

// An approval is decided once, however often the request is repeated; the winning answer is read
// from the session.
func TestIdempotencyOfDecision(t *testing.T) {
	w := newHTTPEnv(t)
	_, q := w.startWaitingRun("r")
	decide := func(decision string, status int, key string) string {
		body := `{"decision":"` + decision + `","message":"rosebud"}`
		return string(w.want(status, nil, "POST", "/v1/approvals/"+q.ID+"/decision", body, "Idempotency-Key: "+key).body)
	}
	for range 2 {
		if got := decide("deny", 200, "k1"); !strings.Contains(got, "rosebud") {
			t.Errorf("%s", got)
		}
		if got := decide("allow", 409, "k2"); !strings.Contains(got, "rosebud") {
			t.Errorf("%s", got)
		}
	}
	w.api.keys.mu.Lock()
	defer w.api.keys.mu.Unlock()
	for id, k := range w.api.keys.responses {
		if strings.Contains(string(k.body), "rosebud") {
			t.Errorf("%q: %s", id, k.body)
		}
	}
}

// The stored answers are limited in number, bytes and time; server errors are not stored.
func TestIdempotencyLimits(t *testing.T) {
	now := time.Unix(0, 0)
	k := newIdempotencyCache(func() time.Time { return now })
	put := func(id string, status, size int) {
		t.Helper()
		if old, err := k.begin(id, sha256.Sum256([]byte(id))); old != nil || err != nil {
			t.Fatalf("%s: %v, %v", id, old, err)
		}
		r := &recorder{ResponseWriter: httptest.NewRecorder()}
		if status != 0 {
			r.WriteHeader(status)
			_, _ = r.Write(make([]byte, size))
		}
		k.finish(id, r)
	}
	for i := range maxKeys + 10 {
		put("n"+strconv.Itoa(i), 200, 1)
	}
	if len(k.responses) != maxKeys || k.bytes != maxKeys || k.responses["n0"] != nil || k.responses["n20"] == nil {
		t.Errorf("%d stored, %d bytes", len(k.responses), k.bytes)
	}
	now = now.Add(keyTTL)
	put("late", 200, 1)
	if len(k.responses) != 1 {
		t.Errorf("%d stored after a day", len(k.responses))
	}
	for i := range 40 {
		put("big"+strconv.Itoa(i), 200, 1<<20)
	}
	if k.bytes > maxStoredBytes || len(k.responses) != maxStoredBytes>>20 {
		t.Errorf("%d stored, %d bytes", len(k.responses), k.bytes)
	}
	for _, status := range []int{0, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		put("failed", status, 0)
	}
}
