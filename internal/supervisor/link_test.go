package supervisor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var hello = `{"t":"hello","health":{"protocol":1,"pid":7}}` + "\n"

// insideOf returns the other end of a connection, played by the test.
func insideOf(t *testing.T, first string) (io.ReadWriteCloser, func() (*Conn, error)) {
	t.Helper()
	host, inside := net.Pipe()
	go func() { _, _ = io.WriteString(inside, first) }()
	return inside, func() (*Conn, error) { return NewConn(t.Context(), host) }
}

// The stream of an exec does not end when the engine dies: a side that is silent for long is considered gone.
func TestSilence(t *testing.T) {
	for name, reads := range map[string]bool{"reads": true, "does not read": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inside, open := insideOf(t, hello)
				defer inside.Close()
				c, err := open()
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				var got bytes.Buffer
				if reads {
					go func() { _, _ = io.Copy(&got, inside) }()
				}
				_, err = c.Ping(t.Context())
				if !errors.Is(err, ErrLost) || time.Since(began) != silence {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				_ = c.Close()
				_ = inside.Close()
				synctest.Wait()
				if n := strings.Count(got.String(), `{"t":"ping"}`); reads && n < 2 {
					t.Errorf("%d heartbeats: %s", n, &got)
				}
			})
		})
	}
}

// A side that sends something from time to time stays connected for any time.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		left, right := newLink(a, maxAnswer), newLink(b, maxHeader)
		nothing := func(*frame) error { return nil }
		left.run(nothing)
		right.run(nothing)
		time.Sleep(24 * time.Hour)
		select {
		case <-left.dead:
			t.Error(left.cause())
		case <-right.dead:
			t.Error(right.cause())
		default:
		}
		left.close()
		right.close()
	})
}

func TestHandshake(t *testing.T) {
	for _, tt := range []struct {
		name, first string
		want        error
	}{
		{"another version", `{"t":"hello","health":{"protocol":2}}` + "\n", ErrProtocol},
		{"no health", `{"t":"hello"}` + "\n", ErrProtocol},
		{"something else", `{"t":"pong"}` + "\n", ErrProtocol},
		{"no JSON", "HTTP/1.1 400 Bad Request\r\n", ErrProtocol},
		{"refused", `{"t":"refused","code":"peer"}` + "\n", ErrRefused},
		{"a stream that is none", `{"t":"data","s":4,"size":1}` + "\nx", ErrProtocol},
		{"too much data", `{"t":"data","s":1,"size":65537}` + "\n", ErrProtocol},
		{"less than nothing", `{"t":"data","s":1,"size":-1}` + "\n", ErrProtocol},
		{"a line without end", strings.Repeat(" ", maxAnswer+maxData), ErrProtocol},
	} {
		inside, open := insideOf(t, tt.first)
		if _, err := open(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		_ = inside.Close()
	}
	inside, _ := insideOf(t, "")
	_ = inside.Close()
	host, silent := net.Pipe()
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := NewConn(ctx, host); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence: %v", err)
	}
}

// The other side may be an agent in the supervisor's place: it must not be able to crash or block the host,
// or fill its memory.
func TestHostileInside(t *testing.T) {
	full := strings.Repeat(`{"t":"data","s":1,"size":65536}`+"\n"+strings.Repeat("x", maxData), window/maxData)
	for name, frames := range map[string]string{
		"more than a window": full + `{"t":"data","s":1,"size":1}` + "\nx",
		"too many acks":      `{"t":"ack","s":0,"size":1}` + "\n",
		"ack of no stream":   `{"t":"ack","s":2,"size":1}` + "\n",
		"data of stdin":      `{"t":"data","s":0,"size":1}` + "\nx",
		"data of no channel": `{"t":"data","s":3,"size":1}` + "\nx",
		"exit without exit":  `{"t":"exit"}` + "\n",
		"data after the end": `{"t":"end","s":1}` + "\n" + `{"t":"data","s":1,"size":1}` + "\nx",
	} {
		p, inside := started(t, frames, false)
		if _, err := p.Wait(t.Context()); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		_ = p.Close()
		_ = inside.Close()
	}
}

// A start without an answer ends the connection, so that no process runs unnoticed.
func TestStartGivenUp(t *testing.T) {
	inside, open := insideOf(t, hello)
	go func() { _, _ = io.Copy(io.Discard, inside) }()
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = c.Start(ctx, Spec{ID: "a", Args: []string{"a"}, Dir: "/", Stderr: io.Discard})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := c.Ping(t.Context()); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestTail(t *testing.T) {
	var all tail
	var want []byte
	for i := range 3000 {
		b := bytes.Repeat([]byte{byte('a' + i%26)}, i%97)
		want = append(want, b...)
		_, _ = all.Write(b)
		if got := all.bytes(); !bytes.Equal(got, want[max(0, len(want)-TailSize):]) {
			t.Fatalf("after %d writes: %d bytes", i, len(got))
		}
	}
	_, _ = all.Write(bytes.Repeat([]byte("x"), 5*TailSize))
	if got := all.bytes(); string(got) != strings.Repeat("x", TailSize) {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzFrames(f *testing.F) {
	for _, s := range []string{
		hello, `{"t":"data","s":1,"size":5}` + "\nhello", `{"t":"ack","s":1,"size":524288}` + "\n",
		`{"t":"start","n":1,"start":{"id":"a","args":["cat"],"env":["A=b"],"dir":"/work","grace_ms":5000}}` + "\n",
		`{"t":"exit","exit":{"code":137,"signal":"SIGKILL","oom":true,"tail":"YQ=="}}` + "\n", "\n", "{}\n{}\n", `{"t":"data","size":9}` + "\nx",
		`{"t":"data","s":1,"size":1e1}` + "\n", strings.Repeat("[", 100000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, data := bufio.NewReaderSize(bytes.NewReader(b), 64), make([]byte, maxData)
		for {
			got, err := readFrame(r, data, maxHeader)
			if err != nil {
				return
			}
			if got.S < 0 || got.S >= streams || len(got.data) > maxData {
				t.Fatalf("%+v", got)
			}
			// A decoded frame is encoded again without change.
			again, err := readFrame(bufio.NewReader(strings.NewReader(wire(t, got))), make([]byte, maxData), maxHeader)
			if err != nil || wire(t, got) != wire(t, again) {
				t.Fatalf("%+v became %+v (%v)", got, again, err)
			}
		}
	})
}

// wire returns a frame in its encoded form.
func wire(t *testing.T, f *frame) string {
	t.Helper()
	line, err := encode(f, f.data)
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + string(f.data)
}
