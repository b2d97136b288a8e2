package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

const upgraded = "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"

// execHandler serves as an engine in which every exec is the function; it gets the connection and the data
// already read from it.
func execHandler(t *testing.T, run func(conn net.Conn, input *bufio.Reader)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/_ping":
			w.Header().Set("Api-Version", minAPI)
		case "/v1.41/containers/x/exec":
			var asked map[string]any
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked["User"] != "1:1" || asked["AttachStdin"] != true {
				t.Errorf("%v, %v", asked, err)
			}
			_, _ = io.WriteString(w, `{"Id":"e"}`)
		case "/v1.41/exec/e/start":
			if r.Header.Get("Upgrade") != "tcp" || r.Header.Get("Connection") != "Upgrade" {
				t.Errorf("%v", r.Header)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			run(conn, rw.Reader)
		default:
			http.NotFound(w, r)
		}
	}
}

func startExec(t *testing.T, e *Engine) *Stream {
	t.Helper()
	st, err := e.Exec(t.Context(), "x", ExecSpec{Command: []string{"cat"}, User: "1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// After the input is closed, output is still read until the process ends.
func TestExecHalfClose(t *testing.T) {
	e := dial(t, execHandler(t, func(conn net.Conn, input *bufio.Reader) {
		_, _ = io.WriteString(conn, upgraded)
		in, err := io.ReadAll(input)
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(conn, frame(2, "warning\n")+frame(1, "read: "+string(in)))
	}))
	st := startExec(t, e)
	if _, err := io.WriteString(st, "one\xff\x00two"); err != nil {
		t.Fatal(err)
	}
	if err := st.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(st)
	if err != nil || string(out) != "read: one\xff\x00two" || st.Stderr() != "warning\n" {
		t.Errorf("%q, %v, %q", out, err, st.Stderr())
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if _, err := st.Write([]byte("x")); err == nil {
		t.Error("written after the close")
	}
}

// Output in the same packet as the response is not lost, large output arrives whole, and the end of standard
// error is kept.
func TestExecOutput(t *testing.T) {
	large := bytes.Repeat([]byte("\x80\xff output that is no UTF-8\n"), 200_000)
	e := dial(t, execHandler(t, func(conn net.Conn, _ *bufio.Reader) {
		_, _ = io.WriteString(conn, upgraded+frame(1, "at once"))
		for b := large; len(b) > 0; {
			n := min(len(b), 40_000)
			_, _ = io.WriteString(conn, frame(1, string(b[:n]))+frame(2, strings.Repeat("e", 1000)))
			b = b[n:]
		}
		_, _ = io.WriteString(conn, frame(2, "last"))
	}))
	st := startExec(t, e)
	out, err := io.ReadAll(st)
	if err != nil || !bytes.Equal(out, append([]byte("at once"), large...)) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if errs := st.Stderr(); len(errs) != keptErrors || !strings.HasSuffix(errs, "elast") {
		t.Errorf("%d bytes", len(errs))
	}
}

// A stream that ends within a frame is an error.
func TestExecTruncated(t *testing.T) {
	e := dial(t, execHandler(t, func(conn net.Conn, _ *bufio.Reader) {
		_, _ = io.WriteString(conn, upgraded+frame(1, "whole")+frame(1, "half of it")[:12])
	}))
	if out, err := io.ReadAll(startExec(t, e)); !errors.Is(err, io.ErrUnexpectedEOF) || string(out) != "wholehalf" {
		t.Errorf("%q, %v", out, err)
	}
}

// The context cancels only the start.
func TestExecContext(t *testing.T) {
	e := dial(t, execHandler(t, func(conn net.Conn, input *bufio.Reader) {
		_, _ = io.WriteString(conn, upgraded)
		line, _ := input.ReadString('\n')
		_, _ = io.WriteString(conn, frame(1, line))
	}))
	ctx, cancel := context.WithCancel(t.Context())
	st, err := e.Exec(ctx, "x", ExecSpec{User: "1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	cancel()
	_ = e.Close() // leaves streams open
	if _, err := io.WriteString(st, "still here\n"); err != nil {
		t.Error(err)
	}
	if out, err := io.ReadAll(st); err != nil || string(out) != "still here\n" {
		t.Errorf("%q, %v", out, err)
	}

	ctx, cancel = context.WithCancel(t.Context())
	e = dial(t, execHandler(t, func(conn net.Conn, input *bufio.Reader) {
		cancel()
		_, _ = io.Copy(io.Discard, input) // until the peer closes
	}))
	if _, err := e.Exec(ctx, "x", ExecSpec{User: "1:1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Close ends a stream that no one reads and that receives nothing.
func TestExecClose(t *testing.T) {
	for name, sent := range map[string]string{"silent": "", "unread": frame(1, strings.Repeat("x", 1<<20))} {
		ended := make(chan struct{})
		e := dial(t, execHandler(t, func(conn net.Conn, input *bufio.Reader) {
			defer close(ended)
			_, _ = io.WriteString(conn, upgraded+sent)
			_, _ = io.Copy(io.Discard, input)
		}))
		st := startExec(t, e)
		if err := st.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		<-ended
		if _, err := st.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: read after the close", name)
		}
	}
}

// An engine that refuses the connection returns an error.
func TestExecRefused(t *testing.T) {
	for answer, want := range map[string]error{
		"HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 30\r\n\r\n" + `{"message":"x is paused here"}`: ErrConflict,
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n":                                                                      ErrNotFound,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}":                                                                           ErrRefused,
		"": ErrNoEngine,
	} {
		e := dial(t, execHandler(t, func(conn net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(conn, answer) }))
		if _, err := e.Exec(t.Context(), "x", ExecSpec{User: "1:1"}); !errors.Is(err, want) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}
