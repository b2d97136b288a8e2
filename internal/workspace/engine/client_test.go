package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// serve serves a handler on a new socket and returns its address.
func serve(t testing.TB, h http.HandlerFunc) (host string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return "unix://" + path
}

// dial creates an engine from a handler that need not answer pings.
func dial(t testing.TB, h http.HandlerFunc) *Engine {
	t.Helper()
	host := serve(t, h)
	c, err := newClient("unix", strings.TrimPrefix(host, "unix://"), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	c.api = minAPI
	e := &Engine{api: c, host: host}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// The error contains the message of an unsuccessful response, in all its forms.
func TestRefusals(t *testing.T) {
	const js = "application/json"
	for _, tt := range []struct {
		name       string
		code       int
		kind, body string
		want       error
		text       string
	}{
		{"JSON", 400, js, `{"message":" bad field \n"}`, ErrRefused, "bad field"},
		{"JSON with a charset", 500, js + "; charset=utf-8", `{"message":"it broke"}`, ErrRefused, "it broke"},
		{"text", 502, "text/html", "<h1>Bad Gateway</h1>\n", ErrRefused, "<h1>Bad Gateway</h1>"},
		{"invalid JSON", 500, js, "half an ans", ErrRefused, "half an ans"},
		{"JSON without a message", 500, js, `{"code":1}`, ErrRefused, "500 Internal Server Error without a message"},
		{"nothing", 503, "", "", ErrRefused, "503 Service Unavailable without a message"},
		{"a strange status", 418, js, `{"message":"tea"}`, ErrRefused, "tea"},
		{"a redirect", 301, "", "", ErrRefused, "301 Moved Permanently"},
		{"not found", 404, js, `{"message":"No such container: x"}`, ErrNotFound, ""},
		{"no image", 404, js, `{"message":"No such image: x"}`, ErrNoImage, ""},
		{"a conflict", 409, js, `{"message":"it is paused"}`, ErrConflict, "it is paused"},
		{"a page of text", 500, "text/plain", strings.Repeat("x", 2*maxErrorBody), ErrRefused, "xxx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := dial(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, tt.body)
			})
			for op, call := range map[string]func() error{
				"get":     func() error { _, err := e.Inspect(t.Context(), "x"); return err },
				"post":    func() error { return e.Unpause(t.Context(), "x") },
				"upgrade": func() error { _, err := e.Exec(t.Context(), "x", ExecSpec{User: "1:1"}); return err },
				"watch":   func() error { return first(e.Watch(t.Context(), nil)) },
			} {
				if err := call(); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || len(err.Error()) > maxErrorBody+100 {
					t.Errorf("%s: %v", op, err)
				}
			}
		})
	}
}

func first[T any](seq func(func(T, error) bool)) (err error) {
	for _, e := range seq {
		err = e
		break
	}
	return err
}

// A name is escaped as one part of the path, or rejected.
func TestNames(t *testing.T) {
	var got string
	e := dial(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.RequestURI
		_, _ = io.WriteString(w, "{}")
	})
	for name, want := range map[string]string{
		"one": "/v1.41/containers/one/json", "a b?c#d%2f": "/v1.41/containers/a%20b%3Fc%23d%252f/json", "é": "/v1.41/containers/%C3%A9/json",
	} {
		if _, err := e.Inspect(t.Context(), name); err != nil || got != want {
			t.Errorf("%q: %s, %v", name, got, err)
		}
	}
	if _, err := e.Image(t.Context(), "docker.io/library/debian:12@sha256:0"); err != nil || got != "/v1.41/images/docker.io/library/debian:12@sha256:0/json" {
		t.Errorf("%s, %v", got, err)
	}
	got = ""
	for _, name := range []string{"", ".", "..", "../images/x", "a/../b", "a//b", "/", "x/"} {
		for op, err := range map[string]error{
			"remove": e.Remove(t.Context(), name), "remove image": e.RemoveImage(t.Context(), name), "stop": e.Stop(t.Context(), name, 0),
		} {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%s %q: %v", op, name, err)
			}
		}
	}
	if got != "" {
		t.Errorf("the engine is asked for %s", got)
	}
	if _, err := e.Image(t.Context(), ""); !errors.Is(err, ErrNoImage) {
		t.Errorf("%v", err)
	}
}

// Requests have the client's headers, and on a socket a Host that is not a path.
func TestHeaders(t *testing.T) {
	var got *http.Request
	e := dial(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		_, _ = io.WriteString(w, `{"Id":"x"}`)
	})
	if _, err := e.Create(t.Context(), Spec{Image: "x"}); err != nil {
		t.Fatal(err)
	}
	if got.Host != "localhost" || !strings.HasPrefix(got.UserAgent(), "holdfast/") || got.Header.Get("Content-Type") != "application/json" || got.ContentLength <= 0 {
		t.Errorf("%s %v, %d bytes", got.Host, got.Header, got.ContentLength)
	}
	if err := e.Start(t.Context(), "x"); err != nil || got.Header.Get("Content-Type") != "" || got.ContentLength != 0 {
		t.Errorf("%v, %d bytes, %v", got.Header, got.ContentLength, err)
	}
}

// Sequential calls share one connection.
func TestConnections(t *testing.T) {
	path, opened := filepath.Join(t.TempDir(), "s"), 0
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v"+maxAPI+"/containers/none/json" {
				http.Error(w, "none", http.StatusNotFound)
				return
			}
			_, _ = io.WriteString(w, "{}\n")
		}),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				opened++ // only one goroutine accepts
			}
		},
	}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	e, err := Connect(t.Context(), "unix://"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for range 3 {
		_, err := e.Inspect(t.Context(), "x")
		_, none := e.Inspect(t.Context(), "none")
		if err = errors.Join(err, e.Start(t.Context(), "x"), e.Remove(t.Context(), "x"), e.RemoveImage(t.Context(), "x")); err != nil || !errors.Is(none, ErrNotFound) {
			t.Fatal(err, none)
		}
	}
	if opened != 1 {
		t.Errorf("%d connections", opened)
	}
}

// A lost connection is reported as ErrNoEngine; a canceled context returns the caller's error.
func TestConnectionLost(t *testing.T) {
	for _, sent := range []string{"", "HTTP/1.1 ", "\x15\x03\x01\x00\x02\x02"} {
		e := dial(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, sent)
				_ = conn.Close()
			}
		})
		if err := e.Unpause(t.Context(), "x"); !errors.Is(err, ErrNoEngine) {
			t.Errorf("after %q: %v", sent, err)
		}
	}
	asked := make(chan struct{}, 1)
	e := dial(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if err := e.Unpause(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	late := e.fail(t.Context(), "op", "x", fmt.Errorf("late: %w", context.DeadlineExceeded))
	if f, ok := errors.AsType[*Error](late); !ok || !errors.Is(late, ErrTimeout) || f.Hint() == "" {
		t.Errorf("%v", late)
	}
}

// Events are returned as they arrive, and the end of the stream is an error.
func TestWatchStream(t *testing.T) {
	var query string
	e := dial(t, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query().Get("filters")
		for _, line := range []string{
			`{"Type":"container","Action":"die","Actor":{"ID":"1","Attributes":{"name":"a","l":"v"}},"timeNano":5,"time":0}`,
			`{"Type":"container","Action":"die","Actor":{"ID":"2","Attributes":{"name":"b"}},"timeNano":6}`, // not created by holdfast
			`{"Type":"container","Action":"start","Actor":{"ID":"1","Attributes":{"name":"a","l":"v"}},"timeNano":7}`,
			`{"Type":`,
		} {
			_, _ = io.WriteString(w, line+"\n")
			w.(http.Flusher).Flush()
		}
	})
	var got []Event
	var end error
	for ev, err := range e.Watch(t.Context(), map[string]string{"l": "v"}) {
		if err != nil {
			end = err
			break
		}
		got = append(got, ev)
	}
	attributes := map[string]string{"name": "a", "l": "v"}
	if want := []Event{{"1", "a", attributes, "die", time.Unix(0, 5)}, {"1", "a", attributes, "start", time.Unix(0, 7)}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if !errors.Is(end, io.ErrUnexpectedEOF) {
		t.Errorf("%v", end)
	}
	var f map[string]map[string]bool
	if err := json.Unmarshal([]byte(query), &f); err != nil || !f["type"]["container"] || !f["event"]["oom"] || !f["label"]["l=v"] {
		t.Errorf("%s, %v", query, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e = dial(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	if err := first(e.Watch(ctx, nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Build messages are reported line by line, and an error in the stream is returned, in both forms that engines
// send.
func TestMessages(t *testing.T) {
	for _, tt := range []struct{ name, stream, id, status, lines, fails string }{
		{"a build", `{"stream":"Step 1/2\r\nnext\n"}{"aux":{"ID":"sha256:1"}}{"stream":"\n"}`, "sha256:1", "", "Step 1/2|next", ""},
		{"an import", `{"status":"Downloading","progressDetail":{"current":1}}{"status":"sha256:2"}`, "", "sha256:2", "Downloading|sha256:2", ""},
		{"another aux", `{"aux":[1]}{"aux":null}{"status":"x"}`, "", "x", "x", ""},
		{"an error", `{"stream":"a"}{"errorDetail":{"code":1,"message":"it broke"},"error":"it broke"}{"stream":"b"}`, "", "", "a", "it broke"},
		{"an error of Podman", `{"error":"it broke"}`, "", "", "", "it broke"},
		{"half a message", `{"stream":"a"}{"str`, "", "", "a", "read the engine's answer: unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var lines []string
			got, err := messages(strings.NewReader(tt.stream), func(l string) { lines = append(lines, l) })
			if got.id != tt.id || got.status != tt.status || strings.Join(lines, "|") != tt.lines {
				t.Errorf("%+v, %q", got, lines)
			}
			if fmt.Sprint(err) != tt.fails && (err != nil || tt.fails != "") {
				t.Errorf("%v", err)
			}
		})
	}
}
