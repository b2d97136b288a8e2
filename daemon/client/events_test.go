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

// script is what a daemon's stream says on each connection, in order; the last one
// holds until the client goes.
func script(t *testing.T, connections ...string) (c *client.Client, from *[]string) {
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

// until collects what is told until a record of the last id.
func until(t *testing.T, c *client.Client, after int64, last string) (told []string) {
	t.Helper()
	for e, err := range c.Events(t.Context(), "s", after) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Record != nil:
			told = append(told, e.Record.ID)
			if e.Record.ID == last {
				return told
			}
		case len(e.Events) > 0:
			told = append(told, e.Events[0].(event.Notice).Text)
		case e.Lost:
			told = append(told, "lost")
		case e.Gap:
			told = append(told, "gap")
		case e.CaughtUp:
			told = append(told, "caught_up")
		default:
			t.Errorf("told %+v", e)
		}
	}
	t.Fatalf("it ended after %v", told)
	return nil
}

// A connection that breaks is made anew behind the last record: nothing is told twice,
// nor left out, also of a record that stands for several.
func TestEvents(t *testing.T) {
	c, from := script(t,
		": hello\nretry: 500\n\n"+record(1, false, "a")+delta+"event: caught_up\ndata: {\"seq\":1}\n\n"+record(2, true, "b1")+record(2, true, "b2"),
		record(2, true, "b1")+record(2, true, "b2")+record(2, true, "b3")+"event: from the future\ndata: {}\n\n"+"event: shutdown\ndata: {}\n\n",
		record(2, true, "b1")+record(2, true, "b2")+record(2, true, "b3")+record(2, false, "b4")+"id: 3\n\n"+"event: record\r\ndata: {\"seq\":4,\r\ndata: \"id\":\"torn",
		record(4, false, "d")+record(5, false, "e"),
	)
	told := strings.Join(until(t, c, 0, "e"), " ")
	if want := "a x caught_up b1 b2 lost gap b3 lost gap b4 lost gap d e"; told != want {
		t.Errorf("told %s\nwant %s", told, want)
	}
	if got := strings.Join(*from, " "); got != "0 1 1 3" {
		t.Errorf("asked from %s", got)
	}
}

// However often a connection breaks, and wherever, each record is told once.
func TestEventsBrokenAnywhere(t *testing.T) {
	const records = 40
	whole := strings.Builder{}
	begin := make([]int, records+1) // where what follows a seq begins
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

// What would come again ends the loop.
func TestEventsEnd(t *testing.T) {
	dir := home(t)
	onSocket(t, filepath.Join(dir, "run", "daemon.sock"), known(nil)) // there is no such route
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
	gone, _ := script(t, "event: deleted\ndata: {}\n\n")
	for e, err := range gone.Events(t.Context(), "s", 0) {
		if err != nil || !e.Deleted {
			t.Errorf("%v, %v", e, err)
		}
	}
}

// Whatever a daemon sends, reading it ends.
func FuzzEvents(f *testing.F) {
	f.Add(record(1, false, "a") + delta)
	f.Add("data\nid\n\n:\n\nevent: gap\ndata: 1\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		client.ReadFrames(strings.NewReader(text))
	})
}
