package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// provider is a server that lists two models, and answers calls that have its key.
func provider(t *testing.T, key string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"no such key: %s"}}`, r.Header.Get("Authorization"))
		case r.URL.Path == "/v1/models":
			io.WriteString(w, `{"data":[{"id":"big","context_length":200000},{"id":"small"}]}`)
		default:
			io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"hello from `+r.URL.Path+`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// loginEnv is a home with a provider of its own.
type loginEnv struct {
	t   *testing.T
	dir string
	env []string
}

func newLoginEnv(t *testing.T, settings string, more ...string) *loginEnv {
	t.Helper()
	d := &loginEnv{t: t, dir: t.TempDir()}
	d.env = append([]string{"HOME=" + d.dir, "HOLDFAST_HOME=" + filepath.Join(d.dir, "home"), "HOLDFAST_NO_DAEMON=1", "PATH=/usr/bin:/bin", "TERM=xterm"}, more...)
	if err := os.MkdirAll(filepath.Join(d.dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	if settings != "" {
		if err := os.WriteFile(filepath.Join(d.dir, "home", "settings.json"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// run runs a command line with a text on standard input.
func (d *loginEnv) run(in string, args ...string) (code int, out, errs string) {
	d.t.Helper()
	var o, e bytes.Buffer
	code = Run(d.t.Context(), &command.Program{
		Args: args, Env: d.env, Stdin: strings.NewReader(in), Stdout: &o, Stderr: &e, Getwd: func() (string, error) { return d.dir, nil },
	})
	return code, o.String(), e.String()
}

// wants checks a command's exit code and output.
func (d *loginEnv) wants(in string, want int, text string, args ...string) (out string) {
	d.t.Helper()
	code, out, errs := d.run(in, args...)
	if code != want || !strings.Contains(out+errs, text) {
		d.t.Errorf("holdfast %s: code %d, want %d and %q:\n%s%s", strings.Join(args, " "), code, want, text, out, errs)
	}
	return out + errs
}

// A key is checked, stored, used by models and runs, and removed.
func TestLogin(t *testing.T) {
	s := provider(t, "made-up-key")
	d := newLoginEnv(t, `{"model": "corp/big", "providers": {"corp": {"baseURL": "`+s.URL+`/v1"}}}`)
	d.wants("", 0, "no keys are stored", "login")
	d.wants("", 1, "no such key", "models", "corp")
	if out := d.wants("wrong-key-1\n", 3, "corp rejected this key (HTTP 401: no such key: Bearer ***); it was not stored", "login", "corp"); strings.Contains(out, "wrong-key-1") {
		t.Errorf("the key is printed: %s", out)
	}
	d.wants("", 0, "no keys are stored", "login")
	d.wants("", 2, "no key on standard input", "login", "corp")
	d.wants("a b\n", 2, "contains an invalid character", "login", "corp")
	d.wants("made-up-key\n", 0, filepath.Join(d.dir, "home", "keys.json")+", which only you can read; there is no keyring here", "login", "corp")
	if out := d.wants("", 0, `"provider":"corp","place":"file"`, "login", "--json"); strings.Contains(out, "made-up-key") {
		t.Errorf("the key is printed: %s", out)
	}
	d.wants("", 0, "corp/big    200000", "models", "corp")
	d.wants("", 0, `[{"model":"corp/big","context":200000},{"model":"corp/small"}]`, "models", "corp", "--json")
	d.wants("", 0, `{"name":"corp","api":"openai","base_url":"`+s.URL+`/v1","key":"login","default":"corp/big"}`, "models", "--json")
	d.wants("", 0, "hello from /v1/chat/completions", "run", "hi")
	d.wants("", 0, "corp/small\n", "__complete", "run", "-m", "corp/")
	d.wants("", 0, "corp/big\t200k tokens of context\n", "__complete", "run", "-m", "corp/")
	d.wants("", 0, "corp/\n", "__complete", "run", "-m", "")
	d.wants("", 0, "removed the key of corp", "logout", "corp")
	d.wants("", 9, "no key of corp is stored", "logout", "corp")
	d.wants("", 2, `unknown provider "nobody"`, "login", "nobody")
	d.wants("", 2, "ollama needs no key", "login", "ollama")
	d.wants("k\n", 0, "stored the key of corp", "login", "corp", "--no-check", "--file")
	s.Close()
	d.wants("k\n", 1, "cannot check the key: ", "login", "corp")
}

// A stored key is sent only to its provider's server.
func TestStoredKeyGoesToItsServer(t *testing.T) {
	var seen []string
	spy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer spy.Close()
	d := newLoginEnv(t, "")
	d.wants("made-up-key\n", 0, "stored the key", "login", "openai", "--no-check")
	d.wants("", 1, "", "run", "-m", "openai/x", "--base-url", spy.URL+"/v1", "hi")
	d.env = append(d.env, "OPENAI_BASE_URL="+spy.URL+"/v1")
	d.wants("", 1, "", "run", "-m", "openai/x", "hi")
	d.wants("made-up-key\n", 2, "OPENAI_BASE_URL points to a different server than openai", "login", "openai")
	if len(seen) != 2 || strings.Join(seen, "") != "" {
		t.Errorf("%q", seen)
	}
}

// In a terminal a key is not echoed.
func TestLoginInTerminal(t *testing.T) {
	s := provider(t, "made-up-key")
	d := newLoginEnv(t, `{"providers": {"corp": {"baseURL": "`+s.URL+`/v1"}}}`)
	c := startTerminal(t, d.env, d.dir, "login", "corp")
	c.expect("key of corp \\(not echoed\\): ")
	c.press("made-uX\x7fp-key\n")
	c.expect("stored the key of corp in .*keys.json")
	if code := c.exit(); code != 0 {
		t.Errorf("code %d", code)
	}
	if strings.Contains(c.screen(), "made-u") {
		t.Errorf("the key is on the screen: %s", c.screen())
	}
}
