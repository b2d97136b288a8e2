package oracle

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// Both clients negotiate the API version alike. The engine client supports none before 1.41.
func TestEngineVersions(t *testing.T) {
	s := newEngineServer(t)
	for _, version := range []string{"", "1.41", "1.44", "1.51", client.MaxAPIVersion, "1.57", "1.100", "2.0", "1.40", "1.39", "1", "x", "1.x", "1.44.1"} {
		s.set(func(s *engineServer) { s.version = version })
		official, err := client.New(client.WithHost(s.host))
		if err != nil {
			t.Fatal(err)
		}
		_, err2 := official.Ping(t.Context(), client.PingOptions{NegotiateAPIVersion: true})
		holdfast, err1 := engine.Connect(t.Context(), s.host)
		if err1 != nil || err2 != nil {
			if (err1 == nil) != (err2 == nil) && version != "1.40" {
				t.Errorf("%q: %v, by Docker's client: %v", version, err1, err2)
			}
			continue
		}
		_, _ = holdfast.Platform(t.Context())
		a := s.taken()
		_, _ = official.ServerVersion(t.Context(), client.ServerVersionOptions{})
		sameRequests(t, a, s.taken())
	}
}

// Both clients return the same kind of error for a failure, with the same message.
func TestEngineErrors(t *testing.T) {
	s := newEngineServer(t)
	holdfast, official := both(t, s)
	for _, code := range []int{304, 400, 401, 403, 404, 409, 500, 501, 503} {
		for _, answer := range []struct{ kind, body string }{
			{"application/json", `{"message":"the words of the engine"}`}, {"text/plain", "the words of the engine\n"}, {"", ""}, {"application/json", "{}"},
		} {
			s.set(func(s *engineServer) { s.status, s.kind, s.answers[""] = code, answer.kind, answer.body })
			err1 := holdfast.Unpause(t.Context(), "x")
			_, err2 := official.ContainerUnpause(t.Context(), "x", client.ContainerUnpauseOptions{})
			var want error
			switch {
			case err2 == nil:
			case errdefs.IsNotFound(err2):
				want = engine.ErrNotFound
			case errdefs.IsConflict(err2):
				want = engine.ErrConflict
			default:
				want = engine.ErrRefused
			}
			if !errors.Is(err1, want) {
				t.Errorf("%d %q: %v, by Docker's client: %v", code, answer.body, err1, err2)
			}
			const words = "the words of the engine"
			if err1 != nil && err2 != nil && strings.Contains(err1.Error(), words) != strings.Contains(err2.Error(), words) {
				t.Errorf("%d %q: %v, by Docker's client: %v", code, answer.body, err1, err2)
			}
		}
	}
}

// Both clients watch the same events.
func TestEngineEvents(t *testing.T) {
	s := newEngineServer(t)
	s.answers[""] = `{"Type":"container","Action":"die","Actor":{"ID":"c1","Attributes":{"name":"a","l":"v"}},"time":1,"timeNano":1000000005}` + "\n"
	holdfast, official := both(t, s)
	var got engine.Event
	for ev, err := range holdfast.Watch(t.Context(), map[string]string{"l": "v"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = ev
		break
	}
	a := s.taken()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := labelled(map[string]string{"l": "v"}).Add("type", "container").Add("event", "create", "start", "oom", "die", "stop", "pause", "unpause", "destroy")
	r := official.Events(ctx, client.EventsListOptions{Filters: f})
	m := <-r.Messages
	sameRequests(t, a, s.taken())
	want := engine.Event{ID: m.Actor.ID, Name: m.Actor.Attributes["name"], Labels: m.Actor.Attributes, Action: string(m.Action), Time: time.Unix(0, m.TimeNano)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, by Docker's client %+v", got, want)
	}
}

// Both clients start a stream with the same request, send the same input, and split its output alike.
func TestEngineStreams(t *testing.T) {
	s := newEngineServer(t)
	s.answers["exec"] = `{"Id":"e1"}`
	holdfast, official := both(t, s)
	rapid.Check(t, func(rt *rapid.T) {
		input := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(rt, "input")
		var sent strings.Builder
		for range rapid.IntRange(0, 5).Draw(rt, "frames") {
			text := strings.Repeat(string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "text")), rapid.SampledFrom([]int{1, 1, 5000}).Draw(rt, "times"))
			sent.WriteString(frames(rapid.SampledFrom([]byte{0, 1, 1, 2, 2}).Draw(rt, "kind"), text))
		}
		var received []string
		s.set(func(s *engineServer) {
			s.process = func(conn net.Conn, in *bufio.Reader) {
				b, _ := io.ReadAll(in)
				received = append(received, string(b))
				_, _ = io.WriteString(conn, sent.String())
			}
		})
		st, err := holdfast.Exec(t.Context(), "x", engine.ExecSpec{Command: []string{"cat", "é"}, User: "1:1", Dir: "/d"})
		if err != nil {
			t.Fatal(err)
		}
		_, err1 := st.Write(input)
		err2 := st.CloseWrite()
		out, err3 := io.ReadAll(st)
		if err := errors.Join(err1, err2, err3, st.Close()); err != nil {
			t.Fatal(err)
		}
		a := s.taken()

		made, err := official.ExecCreate(t.Context(), "x", client.ExecCreateOptions{User: "1:1", Cmd: []string{"cat", "é"}, WorkingDir: "/d", AttachStdin: true, AttachStdout: true, AttachStderr: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := official.ExecAttach(t.Context(), made.ID, client.ExecAttachOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_, err1 = r.Conn.Write(input)
		var wantOut, wantErrors bytes.Buffer
		err2 = r.CloseWrite()
		_, err3 = stdcopy.StdCopy(&wantOut, &wantErrors, r.Reader)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		sameRequests(t, a, s.taken())
		if b := wantErrors.Bytes(); !bytes.Equal(out, wantOut.Bytes()) || st.Stderr() != string(b[max(0, len(b)-8<<10):]) {
			t.Errorf("%d bytes and %d, by Docker's client %d and %d", len(out), len(st.Stderr()), wantOut.Len(), len(b))
		}
		if len(received) != 2 || received[0] != string(input) || received[1] != string(input) {
			t.Errorf("sent %q, received %q", input, received)
		}
	})
}
