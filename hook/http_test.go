package hook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/urlpattern"
)

func webhooks(t *testing.T, change func(*CommandsOptions)) *Commands {
	t.Helper()
	o := &CommandsOptions{Environ: []string{"TOKEN=t0ken", "OTHER=secret", "HTTP_PROXY=http://127.0.0.1:1", "http_proxy=http://127.0.0.1:1"}}
	if change != nil {
		change(o)
	}
	c, err := NewCommands(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestPost(t *testing.T) {
	var seen *http.Request
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen, body = r, string(b)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, ` {"decision":"block","reason":"not now"} `)
	}))
	defer s.Close()
	c := webhooks(t, nil)
	d := Definition{
		Event: PreToolUse, URL: s.URL + "/hook?x=1", Env: []string{"TOKEN"},
		Headers: map[string]string{"Authorization": "Bearer $TOKEN", "x-more": "${TOKEN}-$OTHER-${NONE}-$", "Host": "hooks.example.com"},
	}
	a, err := c.Run(context.Background(), &d, &Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash"}, SessionID: "s1"})
	if err != nil || a.Output == nil || !a.Output.Block || a.Output.Reason != "not now" || a.Exit != nil {
		t.Fatalf("%+v, %v", a, err)
	}
	if seen.Method != http.MethodPost || seen.URL.String() != "/hook?x=1" || seen.Header.Get("Content-Type") != "application/json" {
		t.Errorf("it sent %s %s %v", seen.Method, seen.URL, seen.Header)
	}
	if got := seen.Header.Get("Authorization") + seen.Header.Get("X-More") + seen.Host; got != "Bearer t0kent0ken---$hooks.example.com" {
		t.Errorf("the headers are %q", got)
	}
	if !strings.Contains(body, `"hook_event_name":"PreToolUse"`) || !strings.Contains(body, `"session_id":"s1"`) {
		t.Errorf("it sent %s", body)
	}
}

func TestResponses(t *testing.T) {
	mux := http.NewServeMux()
	say := func(path string, status int, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		})
	}
	say("/empty", 200, "")
	say("/none", 204, "")
	say("/space", 200, " \n")
	say("/object", 201, `{"systemMessage":"hello"}`)
	say("/text", 200, "fine")
	say("/array", 200, "[]")
	say("/half", 200, `{"systemMessage":`)
	say("/type", 200, `{"systemMessage":7}`)
	say("/bad", 500, `{"decision":"block"}`)
	say("/big", 200, `{"systemMessage":"`+strings.Repeat("x", 1<<20)+`"}`)
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/object", http.StatusFound) })
	mux.HandleFunc("/drop", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	s := httptest.NewServer(mux)
	defer s.Close()
	c := webhooks(t, nil)
	for _, tt := range []struct{ path, says, fails string }{
		{"/empty", "", ""},
		{"/none", "", ""},
		{"/space", "", ""},
		{"/object", "hello", ""},
		{"/text", "", "not a JSON object"},
		{"/array", "", "not a JSON object"},
		{"/half", "", "not a JSON object"},
		{"/type", "", "is invalid"},
		{"/bad", "", "500"},
		{"/big", "", "longer than"},
		{"/redirect", "", "redirects are not followed"},
		{"/drop", "", "EOF"},
		{"/unknown", "", "404"},
	} {
		a, err := c.Run(context.Background(), &Definition{Event: Stop, URL: s.URL + tt.path}, &Input{Event: Stop})
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) || a.Output != nil {
				t.Errorf("%s: %+v, %v", tt.path, a.Output, err)
			}
		case err != nil, (a.Output == nil) != (tt.says == ""), a.Output != nil && a.Output.Warning != tt.says:
			t.Errorf("%s: %+v, %v", tt.path, a.Output, err)
		}
	}
}

func TestPostInTime(t *testing.T) {
	end := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	defer s.Close()
	defer close(end)
	c := webhooks(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := c.Run(ctx, &Definition{Event: Stop, URL: s.URL, Timeout: 50 * time.Millisecond}, &Input{Event: Stop})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > patience {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	if _, err := c.Run(context.Background(), &Definition{Event: Stop, URL: "http://127.0.0.1:1"}, &Input{Event: Stop}); err == nil {
		t.Error("nobody listens, and that is no failure")
	}
}

func TestHTTPS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"reason":"safe"}`) }))
	defer s.Close()
	d, in := &Definition{Event: Stop, URL: s.URL}, &Input{Event: Stop}
	if _, err := webhooks(t, nil).Run(context.Background(), d, in); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	c := webhooks(t, func(o *CommandsOptions) { o.Client = s.Client() })
	if a, err := c.Run(context.Background(), d, in); err != nil || a.Output.Reason != "safe" {
		t.Errorf("%+v, %v", a.Output, err)
	}
}

func TestMayReach(t *testing.T) {
	c := webhooks(t, func(o *CommandsOptions) {
		o.URLs = []string{"https://hooks.example.com/*", "https://*.corp.example/in/*/done", "http://10.0.0.1:8080/only", "https://exact.example"}
	})
	for text, ok := range map[string]bool{
		"http://127.0.0.1/x":    true,
		"http://127.9.9.9:80/x": true,
		"http://[::1]:9/x":      true,
		"https://localhost/x":   true,
		"http://LOCALHOST:1":    true,

		"https://hooks.example.com/":         true,
		"https://hooks.example.com":          true,
		"https://HOOKS.example.com/a/b?c=d":  true,
		"https://hooks.example.com:443/a":    true,
		"https://a.b.corp.example/in/x/done": true,
		"http://10.0.0.1:8080/only":          true,
		"https://exact.example/":             true,

		"http://hooks.example.com/a":                  false,
		"https://hooks.example.com:444/a":             false,
		"https://hooks.example.com.evil.net/a":        false,
		"https://evil.net/https://hooks.example.com/": false,
		"https://hooks.example.com@evil.net/a":        false,
		"https://u:p@hooks.example.com/a":             false,
		"https://evil.net?.corp.example/in/x/done":    false,
		"https://evil.net/.corp.example/in/x/done":    false,
		"https://evil.net#.corp.example/in/x/done":    false,
		`https://evil.net\.corp.example/in/x/done`:    false,
		"https://corp.example/in/x/done":              false,
		"https://a.corp.example/in/x/more":            false,
		"https://a.corp.example/in/../x/done":         false,
		"https://a.corp.example/in/%2e%2e/x/done":     false,
		"http://10.0.0.1:8080/only/more":              false,
		"http://10.0.0.1/only":                        false,
		"https://exact.example/x":                     false,
		"http://127.0.0.1.evil.net/":                  false,
		"http://localhost.evil.net/":                  false,
		"http://0.0.0.0/":                             false,
		"http://169.254.169.254/latest":               false,
		"http://2130706433/":                          false,
		"file:///etc/passwd":                          false,
		"ftp://127.0.0.1/":                            false,
		"127.0.0.1":                                   false,
		"http://":                                     false,
		"":                                            false,
		"http://127.0.0.1\n/":                         false,
	} {
		if err := c.mayReach(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzMayReach(f *testing.F) {
	f.Add("https://*.example.com/a*", "https://a.example.com/ab")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := urlpattern.Parse(pattern)
		if err != nil {
			return
		}
		u, err := url.Parse(text)
		if err == nil && p.Matches(u) && !strings.HasPrefix(strings.ToLower(pattern), u.Scheme+"://") {
			t.Errorf("%q matches %q", pattern, text)
		}
	})
}
