package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/audit"
)

// recorder stores the recorded accesses, and fails on demand.
type recorder struct {
	mu   sync.Mutex
	list []audit.Access
	err  error
}

func (r *recorder) add(_ context.Context, x audit.Access) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	r.list = append(r.list, x)
	return nil
}

func (r *recorder) take() []audit.Access {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// one returns the only recorded access.
func (r *recorder) one(t *testing.T) audit.Access {
	t.Helper()
	list := r.take()
	if len(list) != 1 {
		t.Fatalf("recorded: %+v", list)
	}
	return list[0]
}

func newRecordedFixture(t *testing.T) (*fixture, *recorder) {
	rec := &recorder{}
	return newFixture(t, func(o *Options) { o.Record = rec.add }), rec
}

func TestAccessRecords(t *testing.T) {
	f, rec := newRecordedFixture(t)
	ann := Caller{Name: "ann", Method: "unix", From: "unix uid 7 pid 8", Scopes: allScopes()}

	secret, made, err := f.CreateToken(t.Context(), ann, api.Token{Name: "ci", Scopes: []api.Scope{api.ScopeRun}})
	if err != nil {
		t.Fatal(err)
	}
	x := rec.one(t)
	if x.Action != audit.ActionToken || x.By != "ann" || x.Via != "unix" || x.From != ann.From || x.Token != made.ID || x.Name != "ci" || strings.Join(x.Scopes, " ") != "run" {
		t.Errorf("a token that was made: %+v", x)
	}
	code, _, err := f.Link(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	if x = rec.one(t); x.Action != audit.ActionLink || x.By != "ann" || x.Expires == nil {
		t.Errorf("a link that was made: %+v", x)
	}
	got := f.do(loginCall(code))
	if got.status != http.StatusOK {
		t.Fatal(got)
	}
	x = rec.one(t)
	if x.Action != audit.ActionLogin || x.By != "ann" || x.From != "127.0.0.1" || x.Login == "" || len(x.Scopes) != 4 {
		t.Errorf("a login: %+v", x)
	}
	login := x.Login
	f.do(loginCall("wrong"))
	if x = rec.one(t); x.Action != audit.ActionRefuse || x.Via != "code" || x.From != "127.0.0.1" || x.Reason == "" {
		t.Errorf("a wrong code: %+v", x)
	}
	f.do(call{path: "/v1/x", header: map[string]string{"Authorization": "Bearer hf_wrong"}})
	if x = rec.one(t); x.Action != audit.ActionRefuse || x.Via != "token" {
		t.Errorf("a wrong token: %+v", x)
	}
	if err := f.Revoke(t.Context(), ann, made.ID); err != nil {
		t.Fatal(err)
	}
	if x = rec.one(t); x.Action != audit.ActionRevoke || x.Token != made.ID || x.Name != "ci" || x.By != "ann" {
		t.Errorf("a token that was revoked: %+v", x)
	}
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	_, rest, _ := strings.Cut(got.body, `"csrf":"`)
	csrf, _, _ := strings.Cut(rest, `"`)
	f.do(call{method: http.MethodPost, path: "/v1/logout", header: map[string]string{"Cookie": cookie, CSRFHeader: csrf}})
	if x = rec.one(t); x.Action != audit.ActionLogout || x.By != "ann" || x.Login != login || x.From != "127.0.0.1" {
		t.Errorf("a logout: %+v", x)
	}
	_ = secret
}

// Without a record, no access is granted; revoking access works without one.
func TestUnrecordedAccess(t *testing.T) {
	f, rec := newRecordedFixture(t)
	ann := Caller{Name: "ann", Method: "cli", Scopes: allScopes()}
	secret, made, err := f.CreateToken(t.Context(), ann, api.Token{Name: "ci", Scopes: []api.Scope{api.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	code, _, _ := f.Link(t.Context(), ann)
	cookie, csrf := f.login(api.ScopeAdmin)

	rec.fail(errors.New("no space left on device"))
	if s, _, err := f.CreateToken(t.Context(), ann, api.Token{Name: "other", Scopes: []api.Scope{api.ScopeRead}}); !errors.Is(err, ErrUnrecorded) || s != "" {
		t.Errorf("a token was created: %v", err)
	}
	if list, _ := f.Tokens(); len(list) != 1 {
		t.Errorf("tokens: %v", list)
	}
	if c, _, err := f.Link(t.Context(), ann); !errors.Is(err, ErrUnrecorded) || c != "" {
		t.Errorf("a link was created: %v", err)
	}
	if got := f.do(loginCall(code)); got.status != http.StatusInternalServerError || got.header.Get("Set-Cookie") != "" || !strings.Contains(got.body, "not logged in") {
		t.Errorf("a login: %+v", got)
	}
	if err := f.Revoke(t.Context(), ann, made.ID); !errors.Is(err, ErrUnrecorded) || !strings.Contains(err.Error(), "was revoked") {
		t.Errorf("revoking: %v", err)
	}
	if _, ok := f.Check(secret); ok {
		t.Error("a token is still valid after an unrecorded revocation")
	}
	header := map[string]string{"Cookie": cookie, CSRFHeader: csrf}
	if got := f.do(call{method: http.MethodPost, path: "/v1/logout", header: header}); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "logged out") {
		t.Errorf("a logout: %+v", got)
	}
	if got := f.do(call{path: "/v1/x", header: header}); got.status != http.StatusUnauthorized {
		t.Errorf("a login is still valid after an unrecorded logout: %+v", got)
	}
}

// Many wrong credentials are counted and not recorded one by one.
func TestRecordedRefusalLimit(t *testing.T) {
	f, rec := newRecordedFixture(t)
	wrong := call{path: "/v1/x", header: map[string]string{"Authorization": "Bearer hf_wrong"}}
	for range refusalBurst + 40 {
		f.do(wrong)
	}
	if n := len(rec.take()); n != refusalBurst {
		t.Errorf("%d are recorded", n)
	}
	f.clock.add(refusalEvery + time.Second)
	f.do(wrong)
	if x := rec.one(t); x.Omitted != 40 {
		t.Errorf("the next record has %d omitted", x.Omitted)
	}
	f.do(wrong)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if x := rec.one(t); x.Omitted != 1 || x.Action != audit.ActionRefuse {
		t.Errorf("the end: %+v", x)
	}
}
