package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
)

// sseEvent is one event of a stream.
type sseEvent struct{ id, event, data string }

// listener reads an event stream.
type listener struct {
	t      testing.TB
	events chan sseEvent // closed at the end
	end    context.CancelFunc
}

func (w *httpEnv) listen(path string, headers ...string) *listener {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+path, nil)
	must(w.t, err)
	r.Header.Set("Authorization", "Bearer "+w.tokens[api.ScopeAdmin])
	r.Header.Set("Accept", "text/event-stream")
	for _, h := range headers {
		if name, value, ok := strings.Cut(h, ": "); ok {
			r.Header.Set(name, value)
		}
	}
	resp, err := w.client.Do(r) //nolint:bodyclose // it is closed at the end of the test
	must(w.t, err)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("%s: %d %v", path, resp.StatusCode, resp.Header)
	}
	l := &listener{w.t, make(chan sseEvent, 1<<16), cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(l.events)
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 16<<20)
		var e sseEvent
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "id":
				e.id = value
			case "event":
				e.event = value
			case "data":
				e.data = value
			case "":
				if e != (sseEvent{}) {
					l.events <- e
				}
				e = sseEvent{}
			}
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done; _ = resp.Body.Close() })
	return l
}

// next returns the next event; ok is false at the end.
func (l *listener) next() (sseEvent, bool) {
	l.t.Helper()
	select {
	case e, ok := <-l.events:
		return e, ok
	case <-time.After(20 * time.Second):
		l.t.Fatal("no event came")
		return sseEvent{}, false
	}
}

// until reads up to an event of a type.
func (l *listener) until(event string) []sseEvent {
	l.t.Helper()
	var list []sseEvent
	for {
		e, ok := l.next()
		if !ok {
			l.t.Fatalf("the stream ended before %s: %v", event, list)
		}
		if list = append(list, e); e.event == event {
			return list
		}
	}
}

func seqs(list []sseEvent) []string {
	var out []string
	for _, e := range list {
		if e.event == "record" {
			out = append(out, e.id)
		}
	}
	return out
}

func numbers(from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// A stream begins at the requested place and continues with new events.
func TestStream(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "one", "two", "three")
	m, err := w.sessions.Get(t.Context(), "a")
	must(t, err)
	head := int(m.Head)
	for _, tt := range []struct {
		query, header string
		from          int
	}{
		{"", "", 1},
		{"?after=2", "", 3},
		{"?after=2", "Last-Event-ID: 3", 4},
		{"", "Last-Event-ID: " + strconv.Itoa(head), head + 1},
		{"?after=-1", "", head},
		{"?after=-1000", "", 1},
	} {
		l := w.listen("/v1/sessions/a/events"+tt.query, tt.header)
		list := l.until("caught_up")
		if got := seqs(list); !slices.Equal(got, numbers(tt.from, head)) {
			t.Errorf("%q %q: records %v, want from %d", tt.query, tt.header, got, tt.from)
		}
		if last := list[len(list)-1]; last.data != fmt.Sprintf(`{"seq":%d}`, head) || last.id != "" {
			t.Errorf("%+v", last)
		}
		l.end()
	}
	l := w.listen("/v1/sessions/a/events")
	l.until("caught_up")
	must(t, w.sessions.Rename(t.Context(), "a", "new"))
	w.hub.Publish("a", "writer", event.TextDelta{Text: "tick <&> \u2028"})
	e, _ := l.next()
	var ev api.Record
	must(t, json.Unmarshal([]byte(e.data), &ev))
	if e.id != strconv.Itoa(head+1) || ev.Kind != record.KindMetaChanged || ev.Seq != int64(head+1) || ev.More || ev.Session != "" {
		t.Errorf("%+v", e)
	}
	e, _ = l.next()
	var d struct {
		Seq         int
		Agent, Type string
		Event       struct{ Type, Text string }
	}
	must(t, json.Unmarshal([]byte(e.data), &d))
	if e.id != "" || e.event != "delta" || d.Seq != head+1 || d.Agent != "writer" || d.Type != "text_delta" || d.Event.Type != d.Type || d.Event.Text != "tick <&> \u2028" {
		t.Errorf("%+v %+v", e, d)
	}
	for header, want := range map[string]int{"Last-Event-ID: x": 400, "Last-Event-ID: -1": 400, "Last-Event-ID: 999": 400} {
		w.want(want, nil, "GET", "/v1/sessions/a/events", "", "Accept: text/event-stream", header).problem(t)
	}
	w.want(404, nil, "GET", "/v1/sessions/x/events", "", "Accept: text/event-stream").problem(t)
	w.want(400, nil, "GET", "/v1/sessions/a/events?limit=3", "", "Accept: text/event-stream").problem(t)
}

// A stream contains the same bytes as the JSON form, including relays.
func TestEventsAsJSON(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "one", "two", "three")
	own, err := w.sessions.Create(t.Context(), session.Opened{SessionID: "a.writer", Owner: "a"})
	must(t, err)
	d, err := session.NewDraft(record.KindTurnOpened, record.TurnOpened{Turn: "t1"})
	must(t, err)
	_, err = own.Append(t.Context(), d)
	must(t, err)
	must(t, own.Close())
	l, err := w.sessions.Open(t.Context(), "a", nil)
	must(t, err)
	for _, e := range []wire.RunEvent{
		{Event: wire.RunStarted, Status: api.StatusRunning},
		{Event: wire.RunRelayed, Agent: "writer", Session: "a.writer", From: 1, To: 2},
		{Event: wire.RunRelayed, Agent: "gone", Session: "a.gone", From: 1, To: 2},
		{Event: wire.RunCompleted, Status: api.StatusCompleted},
	} {
		d, err := session.NewDraft(record.KindRunEvent, e)
		must(t, err)
		_, err = l.Append(t.Context(), d)
		must(t, err)
	}
	must(t, l.Close())
	var page struct {
		Items []json.RawMessage
		Next  int64 `json:"next_after"`
		Head  int64
	}
	w.want(200, &page, "GET", "/v1/sessions/a/events?limit=500", "")
	if page.Next != page.Head {
		t.Errorf("next %d, head %d", page.Next, page.Head)
	}
	var streamed []string
	var last []string
	for _, e := range w.listen("/v1/sessions/a/events").until("caught_up") {
		if e.event == "record" {
			streamed = append(streamed, e.data)
			last = append(last, e.id)
		}
	}
	for i, raw := range page.Items {
		if i >= len(streamed) || string(raw) != streamed[i] {
			t.Errorf("event %d is\n%s, and streamed\n%v", i, raw, streamed)
			break
		}
	}
	if len(streamed) != len(page.Items) || int64(len(streamed)) != page.Head {
		t.Errorf("%d streamed, %d listed, head %d", len(streamed), len(page.Items), page.Head)
	}
	var e api.Record
	must(t, json.Unmarshal(page.Items[5], &e))
	if e.Agent != "writer" || e.Session != "a.writer" || e.Origin != 1 || !e.More || e.Seq != 6 || last[5] != "" || last[6] != "6" {
		t.Errorf("%+v, ids %v", e, last)
	}
	var kinds api.Records
	for query, want := range map[string]int{
		"kind=item": 3, "kind=item,turn.opened": 4, "kind=item&limit=2": 2, "after=-2": 1, "after=-2&kind=item": 2, "kind=item&after=3": 1,
		"kind=redacted": 0, "after=-3&limit=1": 2,
	} {
		if w.want(200, &kinds, "GET", "/v1/sessions/a/events?"+query, ""); len(kinds.Items) != want {
			t.Errorf("%s: %d events, want %d", query, len(kinds.Items), want)
		}
	}
	for _, query := range []string{"kind=nothing", "after=999", "after=x", "limit=0", "limit=501", "before=3", "after=1&after=2"} {
		w.want(400, nil, "GET", "/v1/sessions/a/events?"+query, "").problem(t)
	}
	if got := seqs(w.listen("/v1/sessions/a/events?kind=turn.opened").until("caught_up")); !slices.Equal(got, []string{"6"}) {
		t.Errorf("of one kind: %v", got)
	}
}

// Streams end, with the reason, when the daemon shuts down, when the session is deleted, and when
// the credential is revoked.
func TestStreamEnds(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "one")
	w.session("b", nil, "one")
	gone := w.listen("/v1/sessions/b/events")
	gone.until("caught_up")
	must(t, w.sessions.Delete(t.Context(), "b"))
	gone.until("deleted")
	if _, ok := gone.next(); ok {
		t.Error("a stream continues without its session")
	}
	secret, made, err := w.auth.CreateToken(t.Context(), auth.Caller{Name: "ann", Method: "cli"}, api.Token{Name: "x", Scopes: []api.Scope{api.ScopeRead}})
	must(t, err)
	revoked := w.listen("/v1/sessions/a/events", "Authorization: Bearer "+secret)
	revoked.until("caught_up")
	w.want(204, nil, "DELETE", "/v1/tokens/"+made.ID, "")
	if e, ok := revoked.next(); ok {
		t.Errorf("after the token was revoked: %+v", e)
	}
	w.want(401, nil, "GET", "/v1/info", "", "Authorization: Bearer "+secret)
	list := []*listener{w.listen("/v1/sessions/a/events"), w.listen("/v1/approvals")}
	list[0].until("caught_up")
	list[1].until("approvals")
	var h api.Health
	if w.want(200, &h, "GET", "/health", ""); h.ConnectedClients < 2 {
		t.Errorf("%+v", h)
	}
	w.api.stop()
	w.api.stop()
	for _, l := range list {
		l.until("shutdown")
		if _, ok := l.next(); ok {
			t.Error("a stream continues after shutdown")
		}
	}
	w.want(503, nil, "GET", "/v1/sessions/a/events", "", "Accept: text/event-stream").problem(t)
	var r routes.Readiness
	if w.want(503, &r, "GET", "/readyz", ""); r.Status != "not ready" || r.Checks["draining"] == "ok" {
		t.Errorf("%+v", r)
	}
	w.want(200, nil, "GET", "/healthz", "")
}

// curl continues where it was cut off.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		testneed.Need(t, "curl is not installed")
	}
	w := newHTTPEnv(t)
	w.session("a", nil, "one", "two", "three", "four")
	m, err := w.sessions.Get(t.Context(), "a")
	must(t, err)
	read := func(headers ...string) []string {
		args := []string{"-sN", "-H", "Accept: text/event-stream", "-H", "Authorization: Bearer " + w.tokens[api.ScopeRead]}
		for _, h := range headers {
			args = append(args, "-H", h)
		}
		cmd := exec.CommandContext(t.Context(), curl, append(args, w.server.URL+"/v1/sessions/a/events")...)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		var got []string
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != "event: caught_up" {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				got = append(got, id)
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		return got
	}
	all := read()
	if !slices.Equal(all, numbers(1, int(m.Head))) {
		t.Fatalf("curl got %v", all)
	}
	for i, id := range all {
		if rest := read("Last-Event-ID: " + id); !slices.Equal(rest, all[i+1:]) {
			t.Errorf("after %s curl got %v", id, rest)
		}
	}
}

// A client that reads nothing is disconnected and does not affect others.
func TestStuckStream(t *testing.T) {
	w := newHTTPEnv(t)
	w.api.streamTimeout = 2 * time.Second // long enough for the client that reads
	w.session("a", nil, "one")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", w.server.Listener.Addr().String())
	must(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "GET /v1/sessions/a/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n",
		w.server.Listener.Addr(), w.tokens[api.ScopeRead])
	must(t, err)
	well := w.listen("/v1/sessions/a/events")
	well.until("caught_up")
	l, err := w.sessions.Open(t.Context(), "a", nil)
	must(t, err)
	d, err := session.NewDraft(record.KindTurnOpened, record.TurnOpened{Turn: strings.Repeat("x", 1<<20)})
	must(t, err)
	const n = 12 // MiB: more than the kernel buffers for a connection
	for range n {
		_, err = l.Append(t.Context(), d)
		must(t, err)
		if e, ok := well.next(); !ok || e.event != "record" {
			t.Fatalf("%+v", e)
		}
	}
	must(t, l.Close())
	eventually(t, "the one that takes nothing is gone", func() bool { return w.api.streaming.Load() == 1 })
}

// A client that joins or reconnects in the middle of an answer gets the text so far.
func TestStreamHasTextSoFar(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("s", nil, "hi")
	for _, e := range []event.Event{event.ModelStarted{Model: "m"}, event.TextDelta{Text: "one "}, event.TextDelta{Text: "two "}} {
		w.hub.Publish("s", "a", e)
	}
	check := func(l *listener, want string) {
		t.Helper()
		l.until("caught_up")
		got := ""
		for !strings.HasSuffix(got, want[len(want)-1:]) {
			e, ok := l.next()
			var d struct {
				Type  string
				Event struct{ Text string }
			}
			if !ok || e.event != "delta" || e.id != "" || json.Unmarshal([]byte(e.data), &d) != nil {
				t.Fatalf("%+v after %q", e, got)
			}
			got += d.Type + ":" + d.Event.Text + "|"
			if d.Event.Text != "" {
				got = got[:len(got)-1]
			}
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	first := w.listen("/v1/sessions/s/events")
	check(first, "model_started:|text_delta:one two ")
	w.hub.Publish("s", "a", event.TextDelta{Text: "three."})
	check(w.listen("/v1/sessions/s/events", "Last-Event-ID: 2"), "model_started:|text_delta:one two three.")
	if e, ok := first.next(); !ok || e.event != "delta" || !strings.Contains(e.data, "three.") {
		t.Errorf("%+v", e)
	}
}
