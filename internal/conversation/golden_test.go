package conversation_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/conversation"
)

var update = flag.Bool("update", false, "write the golden files")

// frame is one line of a log in testdata: an event of the daemon's stream. The event "lost" breaks
// the connection.
type frame struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
	seq   int64
}

func readFrames(t testing.TB, file string) (list []frame) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if strings.TrimSpace(in.Text()) == "" || strings.HasPrefix(in.Text(), "#") {
			continue
		}
		list = append(list, parseFrame(t, in.Bytes()))
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func parseFrame(t testing.TB, line []byte) frame {
	t.Helper()
	var fr frame
	if err := json.Unmarshal(line, &fr); err != nil {
		t.Fatalf("%v: %.100s", err, line)
	}
	var at struct{ Seq int64 }
	_ = json.Unmarshal(fr.Data, &at)
	fr.seq = at.Seq
	return fr
}

// read returns the events that a client gets that reads these frames after a seq. The daemon sends
// no deltas of the past.
func read(t testing.TB, list []frame, after int64) (events []*client.Event) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/events") {
			_, _ = io.WriteString(w, `{"version":"test","api":"v1","protocol":1,"caller":{"name":"me","via":"unix","scopes":["read"]}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(f frame) {
			var more struct{ More bool }
			_ = json.Unmarshal(f.Data, &more)
			if f.Event == "record" && !more.More {
				fmt.Fprintf(w, "id: %d\n", f.seq)
			}
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", f.Event, f.Data)
		}
		for _, f := range list {
			if f.seq > after || f.seq == after && f.Event != "record" {
				send(f)
			}
		}
		send(frame{Event: "deleted", Data: json.RawMessage(`{}`)}) // ends the reading
	}))
	defer s.Close()
	c, err := client.Dial(t.Context(), &client.Options{URL: s.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for e, err := range c.Events(t.Context(), "s", after) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Deleted {
			return events
		}
		events = append(events, e)
	}
	return events
}

// events returns the events of frames. A frame "lost" becomes two events: the lost connection and
// the gap after it.
func events(t testing.TB, list []frame, after int64) (all []*client.Event) {
	t.Helper()
	return read(t, slices.DeleteFunc(slices.Clone(list), func(f frame) bool { return f.Event == "lost" }), after)
}

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func options() *conversation.Options {
	return &conversation.Options{
		Cwd: "/tmp/conv/proj", Now: func() time.Time { return start },
		Window: func(string) int { return 100_000 },
	}
}

// TestGolden compares the blocks and the states of recorded logs with their golden files: read from
// the beginning, while they grew, and from the middle.
func TestGolden(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, file := range logs {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			list := readFrames(t, file)
			var b strings.Builder
			show(&b, events(t, list, 0))
			last := list[len(list)-1].seq
			fmt.Fprintf(&b, "\n# after %d\n", last/2)
			show(&b, events(t, list, last/2))
			compare(t, "testdata/"+name+".golden", b.String())
		})
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s:%d\n got %s\nwant %s\nhint: go test -update", file, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d; hint: go test -update", file, len(g), len(w))
}

// show writes the updates of events, and the state after each event that changes it.
func show(b *strings.Builder, list []*client.Event) {
	c := conversation.New(options())
	before := ""
	for _, e := range list {
		for _, u := range c.Apply(e) {
			b.WriteString(updateText(u) + "\n")
		}
		if now := stateText(c.State()); now != before {
			b.WriteString("      " + now + "\n")
			before = now
		}
	}
}

func updateText(u conversation.Update) string {
	switch {
	case u.Discard:
		return "discard"
	case u.Block == nil:
		return fmt.Sprintf("+ %s %q", u.Kind, u.Delta)
	}
	x := u.Block
	parts := []string{strconv.FormatInt(x.Seq, 10), x.Kind.String()}
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+"="+strconv.Quote(value))
		}
	}
	add("agent", x.Agent)
	add("by", x.By)
	add("text", x.Text)
	if x.Warning {
		parts = append(parts, "warning")
	}
	if u.Streamed {
		parts = append(parts, "streamed")
	}
	if u.Rewound {
		parts = append(parts, fmt.Sprintf("void after %d", u.After))
	}
	if x.Call != nil {
		parts = append(parts, callText(x.Call))
	}
	if x.Request != nil {
		parts = append(parts, fmt.Sprintf("%s: %s by %s", x.Request.Tool, x.Reply.Decision, x.Reply.Actor))
		add("message", x.Reply.Message)
	}
	if r := x.Result; r != nil {
		parts = append(parts, fmt.Sprintf("%s turns=%d tokens=%d cost=%.4f run=%.4f took=%s", r.Reason, r.Turns, r.Usage.Total(), r.CostUSD, r.RunCostUSD, r.Duration))
		if r.Err != nil {
			add("error", r.Err.Error())
		}
	}
	return strings.Join(parts, " ")
}

func callText(c *conversation.Call) string {
	parts := []string{c.Use[len(c.Use)-2:], c.Tool, string(c.Input)}
	if c.Output != "" {
		parts = append(parts, fmt.Sprintf("→ %q", c.Output))
	}
	if c.Denied != "" {
		parts = append(parts, fmt.Sprintf("denied %q", c.Denied))
	}
	for name, on := range map[string]bool{"error": c.IsError} {
		if on {
			parts = append(parts, name)
		}
	}
	if c.Unknown {
		parts = append(parts, "unknown")
	}
	if c.Background {
		parts = append(parts, "background")
	}
	if c.Running {
		parts = append(parts, "running")
	}
	if c.ExitCode != nil {
		parts = append(parts, fmt.Sprint("exit ", *c.ExitCode))
	}
	if c.Diff != "" {
		parts = append(parts, fmt.Sprintf("diff %q", c.Diff))
	}
	return strings.Join(parts, " ")
}

func stateText(s *conversation.State) string {
	parts := []string{"·"}
	if s.Working {
		parts = append(parts, "working")
	}
	if s.Doing != "" {
		parts = append(parts, s.Doing)
	}
	parts = append(parts, string(s.Mode), s.Model)
	for _, c := range s.Calls {
		parts = append(parts, "["+callText(c)+"]")
	}
	for i := range s.Questions {
		parts = append(parts, "question "+s.Questions[i].Tool)
	}
	for _, q := range s.Queue {
		parts = append(parts, fmt.Sprintf("queued %s %q by %s", q.ID, q.Text, q.By))
	}
	for _, a := range s.Agents {
		parts = append(parts, fmt.Sprintf("{%s %q %q calls=%d tokens=%d ended=%v failed=%v}", a.Name, a.Prompt, a.Doing, a.Calls, a.Tokens, a.Ended, a.Failed))
	}
	for _, k := range s.Tasks {
		parts = append(parts, k.Status+" "+k.Text)
	}
	if u := s.Usage; u.Context+int(u.Input) > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d $%.4f", u.Context, u.Window, u.CostUSD))
	}
	if s.Lost != nil {
		parts = append(parts, "lost")
	}
	if s.CaughtUp {
		parts = append(parts, "live")
	}
	return strings.Join(parts, " ")
}
