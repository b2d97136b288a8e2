package client_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
)

// serveStreams serves a daemon's stream with this text on each connection, in order; the last connection
// stays open until the client disconnects.
func serveStreams(t *testing.T, connections ...string) (c *client.Client, from *[]string) {
	t.Helper()
	dir := home(t)
	n := 0
	from = new([]string)
	onSocket(t, filepath.Join(dir, "run", "daemon.sock"), known(map[string]http.HandlerFunc{
		"GET /v1/sessions/{id}/events": func(w http.ResponseWriter, r *http.Request) {
			*from = append(*from, r.Header.Get("Last-Event-ID"))
			w.Header().Set("Content-Type", "text/event-stream")
			text := connections[min(n, len(connections)-1)]
			n++
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
			if n >= len(connections) {
				<-r.Context().Done()
			}
		},
	}))
	c, err := client.Dial(t.Context(), &client.Options{Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, from
}

func record(seq int, more bool, id string) string {
	s := fmt.Sprintf("event: record\ndata: {\"seq\":%d,\"more\":%v,\"id\":%q,\"kind\":\"item\",\"payload\":{}}\n", seq, more, id)
	if !more {
		s = fmt.Sprintf("id: %d\n", seq) + s
	}
	return s + "\n"
}

const delta = "event: delta\ndata: {\"seq\":1,\"agent\":\"a\",\"type\":\"notice\",\"event\":{\"type\":\"notice\",\"text\":\"x\"}}\n\n"

// until collects the events until a record with the last id.
func until(t *testing.T, c *client.Client, after int64, last string) (events []string) {
	t.Helper()
	for e, err := range c.Events(t.Context(), "s", after) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Record != nil:
			events = append(events, e.Record.ID)
			if e.Record.ID == last {
				return events
			}
		case len(e.Events) > 0:
			events = append(events, e.Events[0].(event.Notice).Text)
		case e.Lost:
			events = append(events, "lost")
		case e.Gap:
			events = append(events, "gap")
		case e.CaughtUp:
			events = append(events, "caught_up")
		default:
			t.Errorf("got %+v", e)
		}
	}
	t.Fatalf("it ended after %v", events)
	return nil
}

// A broken connection is replaced after the last record: no record is repeated or missing,
// including the records of a relay.
func TestEvents(t *testing.T) {
	c, from := serveStreams(t,
		": hello\nretry: 500\n\n"+record(1, false, "a")+delta+"event: caught_up\ndata: {\"seq\":1}\n\n"+record(2, true, "b1")+record(2, true, "b2"),
		record(2, true, "b1")+record(2, true, "b2")+record(2, true, "b3")+"event: from the future\ndata: {}\n\n"+"event: shutdown\ndata: {}\n\n",
		record(2, true, "b1")+record(2, true, "b2")+record(2, true, "b3")+record(2, false, "b4")+"id: 3\n\n"+"event: record\r\ndata: {\"seq\":4,\r\ndata: \"id\":\"torn",
		record(4, false, "d")+record(5, false, "e"),
	)
	events := strings.Join(until(t, c, 0, "e"), " ")
	if want := "a x caught_up b1 b2 lost gap b3 lost gap b4 lost gap d e"; events != want {
		t.Errorf("got %s\nwant %s", events, want)
	}
	if got := strings.Join(*from, " "); got != "0 1 1 3" {
		t.Errorf("requested from %s", got)
	}
}

// An erased record has no payload and no events.
func TestErasedRecord(t *testing.T) {
	c, _ := serveStreams(t, "id: 1\nevent: record\ndata: {\"seq\":1,\"id\":\"a\",\"kind\":\"item\",\"payload\":null}\n\n")
	for e, err := range c.Events(t.Context(), "s", 0) {
		if err != nil || e.Err != nil || e.Record.Payload != nil || len(e.Events) > 0 {
			t.Errorf("got %+v, %v", e, err)
		}
		break
	}
}

// However often and wherever a connection breaks, each record is yielded once.
func TestEventsBrokenAnywhere(t *testing.T) {
	const records = 40
	whole := strings.Builder{}
	begin := make([]int, records+1) // where the text after a seq begins
	for seq := 1; seq <= records; seq++ {
		begin[seq-1] = whole.Len()
		for part := range seq % 3 {
			whole.WriteString(record(seq, true, fmt.Sprintf("%d.%d", seq, part)))
		}
		whole.WriteString(record(seq, false, fmt.Sprintf("%d.end", seq)))
	}
	begin[records] = whole.Len()
	dir := home(t)
	var tries atomic.Int64
	rng := rand.New(rand.NewPCG(1, 2))
	onSocket(t, filepath.Join(dir, "run", "daemon.sock"), known(map[string]http.HandlerFunc{
		"GET /v1/sessions/{id}/events": func(w http.ResponseWriter, r *http.Request) {
			last, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
			if err != nil {
				t.Error(err)
			}
			rest := whole.String()[begin[last]:]
			w.Header().Set("Content-Type", "text/event-stream")
			if tries.Add(1) < 6 {
				rest = rest[:rng.IntN(len(rest)+1)]
			}
			_, _ = io.WriteString(w, rest)
		},
	}))
	c, err := client.Dial(t.Context(), &client.Options{Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var want, got []string
	for seq := 1; seq <= records; seq++ {
		for part := range seq % 3 {
			want = append(want, fmt.Sprintf("%d.%d", seq, part))
		}
		want = append(want, fmt.Sprintf("%d.end", seq))
	}
	for _, id := range until(t, c, 0, fmt.Sprintf("%d.end", records)) {
		if id != "lost" && id != "gap" {
			got = append(got, id)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// An error that would occur again ends the loop.
func TestEventsEnd(t *testing.T) {
	dir := home(t)
	onSocket(t, filepath.Join(dir, "run", "daemon.sock"), known(nil)) // this daemon does not have the route
	c, err := client.Dial(t.Context(), &client.Options{Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n := 0
	for e, err := range c.Events(t.Context(), "s", 0) {
		if n++; e != nil || err == nil {
			t.Errorf("%v, %v", e, err)
		}
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
	gone, _ := serveStreams(t, "event: deleted\ndata: {}\n\n")
	for e, err := range gone.Events(t.Context(), "s", 0) {
		if err != nil || !e.Deleted {
			t.Errorf("%v, %v", e, err)
		}
	}
}

// Reading a stream ends for any input.
func FuzzEvents(f *testing.F) {
	f.Add(record(1, false, "a") + delta)
	f.Add("data\nid\n\n:\n\nevent: gap\ndata: 1\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		client.ReadFrames(strings.NewReader(text))
	})
}
