package auth

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

func open(t *testing.T, dir string) *Auth {
	t.Helper()
	a, err := New(&Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func TestMakeAndRevoke(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	a, other := open(t, dir), open(t, dir) // another program
	secret, made, err := a.CreateToken(t.Context(), Caller{Name: "ann", Method: "cli"}, api.Token{Name: " ci ", Scopes: []api.Scope{api.ScopeRun, api.ScopeRead, api.ScopeRun}, By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if len(secret) != 46 || !strings.HasPrefix(secret, "hf_") || made.Name != "ci" || len(made.Scopes) != 2 {
		t.Errorf("%d, %+v", len(secret), made)
	}
	for _, x := range []*Auth{a, other} {
		c, ok := x.Check(secret)
		if !ok || c.Name != "ci" || c.Method != "token" || c.Token != made.ID || !c.HasScope(api.ScopeRun) || c.HasScope(api.ScopeApprove) || c.UID != -1 {
			t.Errorf("%+v, %t", c, ok)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "tokens.json"))
	if err != nil || strings.Contains(string(b), secret[3:]) {
		t.Errorf("the file has the secret, or %v", err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "tokens.json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := other.Revoke(t.Context(), Caller{Name: "ann", Method: "cli"}, made.ID); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*Auth{a, other} {
		if _, ok := x.Check(secret); ok {
			t.Error("a revoked token is valid")
		}
	}
	if err := a.Revoke(t.Context(), Caller{Name: "ann", Method: "cli"}, made.ID); !errors.Is(err, ErrUnknown) {
		t.Errorf("again: %v", err)
	}
}

func TestMakeErrors(t *testing.T) {
	a := open(t, t.TempDir())
	past := time.Now().Add(-time.Second)
	for name, tok := range map[string]api.Token{
		"no name": {Scopes: []api.Scope{api.ScopeRead}}, "blank": {Name: "  ", Scopes: []api.Scope{api.ScopeRead}}, "control": {Name: "a\x1b[0m", Scopes: []api.Scope{api.ScopeRead}},
		"long": {Name: strings.Repeat("a", 101), Scopes: []api.Scope{api.ScopeRead}}, "no scope": {Name: "a"},
		"unknown scope": {Name: "a", Scopes: []api.Scope{api.ScopeRead, "root"}}, "past": {Name: "a", Scopes: []api.Scope{api.ScopeRead}, Expires: &past},
	} {
		if _, _, err := a.CreateToken(t.Context(), Caller{Name: "ann", Method: "cli"}, tok); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := a.Tokens(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// Programs that change the file concurrently lose no token.
func TestConcurrentWriters(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	secrets := make(chan string, 40)
	for range 4 {
		a := open(t, dir)
		wg.Go(func() {
			for range 10 {
				s, _, err := a.CreateToken(t.Context(), Caller{Name: "ann", Method: "cli"}, api.Token{Name: "n", Scopes: []api.Scope{api.ScopeRead}})
				if err != nil {
					t.Error(err)
				}
				if _, ok := a.Check(s); !ok {
					t.Error("a new token is invalid")
				}
				secrets <- s
			}
		})
	}
	wg.Wait()
	close(secrets)
	a := open(t, dir)
	for s := range secrets {
		if _, ok := a.Check(s); !ok {
			t.Error("a token was lost")
		}
	}
}

func TestDamagedFile(t *testing.T) {
	const hash = `"sha256":"` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `"`
	for name, text := range map[string]string{
		"empty": "", "not JSON": "{", "two": `{"version":1,"tokens":[]}{}`, "newer": `{"version":2,"tokens":[]}`, "other key": `{"version":1,"tokens":[],"x":1}`,
		"no hash": `{"version":1,"tokens":[{"id":"a","name":"a","scopes":["read"],"created_at":"2026-01-02T03:04:05Z"}]}`,
		"short":   `{"version":1,"tokens":[{"id":"a","name":"a","scopes":["read"],"created_at":"2026-01-02T03:04:05Z","sha256":"00"}]}`,
		"long":    `{"version":1,"tokens":[{"id":"a","name":"a","scopes":["read"],"created_at":"2026-01-02T03:04:05Z",` + hash[:len(hash)-1] + `00"}]}`,
		"scope":   `{"version":1,"tokens":[{"id":"a","name":"a","scopes":["root"],"created_at":"2026-01-02T03:04:05Z",` + hash + `}]}`,
		"twice": `{"version":1,"tokens":[{"id":"a","name":"a","scopes":["read"],"created_at":"2026-01-02T03:04:05Z",` + hash + `},` +
			`{"id":"b","name":"a","scopes":["read"],"created_at":"2026-01-02T03:04:05Z",` + hash + `}]}`,
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "tokens.json")
		a := open(t, dir)
		secret, _, err := a.CreateToken(t.Context(), Caller{Name: "ann", Method: "cli"}, api.Token{Name: "n", Scopes: []api.Scope{api.ScopeRead}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(&Options{Dir: dir}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := a.Check(secret); ok {
			t.Errorf("%s: a token is valid", name)
		}
		if _, err := a.Tokens(); err == nil {
			t.Errorf("%s: listed", name)
		}
		if _, _, err := a.CreateToken(t.Context(), Caller{Name: "ann", Method: "cli"}, api.Token{Name: "n", Scopes: []api.Scope{api.ScopeRead}}); err == nil {
			t.Errorf("%s: overwritten", name)
		}
	}
}

func TestTokenFilePermissions(t *testing.T) {
	f := newFixture(t, nil)
	secret, _ := f.make(api.Token{Scopes: []api.Scope{api.ScopeRead}})
	file := filepath.Join(f.o.Dir, "tokens.json")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := New(&Options{Dir: f.o.Dir}); !errors.As(err, &e) || e.Hint() != "chmod 600 "+file {
		t.Errorf("%v", err)
	}
	got := f.do(call{header: map[string]string{"Authorization": "Bearer " + secret}})
	if got.status != http.StatusInternalServerError || strings.Contains(got.body, file) || len(f.failed) != 2 {
		t.Errorf("%+v, %q", got, f.failed)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := f.do(call{header: map[string]string{"Authorization": "Bearer " + secret}}); got.status != http.StatusUnauthorized {
		t.Errorf("without a file: %+v", got)
	}
}

func TestTokenUse(t *testing.T) {
	f := newFixture(t, nil)
	secret, made := f.make(api.Token{Scopes: []api.Scope{api.ScopeRead}})
	other := open(t, f.o.Dir)
	used := func() string {
		list, err := other.Tokens()
		if err != nil || len(list) != 1 || list[0].ID != made.ID {
			t.Fatal(list, err)
		}
		if list[0].Used == nil {
			return ""
		}
		return list[0].Used.Format(time.TimeOnly)
	}
	if used() != "" {
		t.Error(used())
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "03:04:05"}, {time.Second, "03:04:05"}, {time.Minute, "03:05:06"}} {
		f.clock.add(step.after)
		if _, ok := f.Check(secret); !ok || used() != step.want {
			t.Errorf("after %s: %t, %s, want %s", step.after, ok, used(), step.want)
		}
	}
}

// The channel of a connection's token is closed: at once if this program revokes it, soon if
// another program does, and at its expiry.
func TestRevokedChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a, other := open(t, dir), open(t, dir)
		end := time.Now().Add(time.Hour)
		var callers []Caller
		for _, tok := range []api.Token{{Name: "here"}, {Name: "there"}, {Name: "expires", Expires: &end}, {Name: "stays"}} {
			tok.Scopes = []api.Scope{api.ScopeRead}
			secret, _, err := a.CreateToken(t.Context(), Caller{Name: "ann", Method: "cli"}, tok)
			if err != nil {
				t.Fatal(err)
			}
			c, _ := a.Check(secret)
			callers = append(callers, c)
		}
		closed := func(i int) bool {
			select {
			case <-a.Revoked(callers[i]):
				return true
			default:
				return false
			}
		}
		state := func(want ...bool) {
			t.Helper()
			for i, w := range want {
				if closed(i) != w {
					t.Errorf("%s: %t", callers[i].Name, !w)
				}
			}
		}
		state(false, false, false, false)
		waits := a.Revoked(callers[0])
		if err := a.Revoke(t.Context(), Caller{Name: "ann", Method: "cli"}, callers[0].Token); err != nil {
			t.Fatal(err)
		}
		<-waits
		state(true, false, false, false)
		waits = a.Revoked(callers[1])
		if err := other.Revoke(t.Context(), Caller{Name: "ann", Method: "cli"}, callers[1].Token); err != nil {
			t.Fatal(err)
		}
		<-waits
		state(true, true, false, false)
		<-a.Revoked(callers[2])
		if d := time.Until(end); d > 0 || d < -watchEvery {
			t.Errorf("closed %s after the end", -d)
		}
		state(true, true, true, false)
		if a.Revoked(Caller{Method: "unix"}) != nil {
			t.Error("the channel of a unix socket's peer was closed")
		}
		a.Close()
		a.Close()
	})
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte(`{"version":1,"tokens":[]}`))
	f.Add([]byte(`{"version":1,"tokens":[{"id":"a","name":"a","scopes":["read"],"created_at":"2026-01-02T03:04:05Z","sha256":"` + strings.Repeat("0a", 32) + `"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseTokens(b)
		if err != nil && list != nil {
			t.Error("tokens of a damaged file")
		}
		for _, k := range list {
			if k.ID == "" {
				t.Error("a token without id")
			}
		}
	})
}
