package conversation_test

import (
	"bufio"
	"encoding/json"
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
	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// frame is one event of the daemon's stream. A line of a *.jsonl file in testdata is a recorded one.
// The *.log files are short forms, see parseShort.
type frame struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
	seq   int64
	more  bool // the next record has the same seq
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
		if strings.HasSuffix(file, ".log") {
			list = append(list, parseShort(t, in.Text(), list))
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
	var at struct {
		Seq  int64
		More bool
	}
	_ = json.Unmarshal(fr.Data, &at)
	fr.seq, fr.more = at.Seq, at.More
	return fr
}

// parseShort reads a line of a *.log file. The lines are:
//
//	SEQ KIND PAYLOAD
//	SEQ KIND @SESSION/AGENT PAYLOAD   a relayed record; it can have the seq of the one before it
//	+AGENT EVENT                      a delta
//	gap
//	up STATUS                         caught up
func parseShort(t testing.TB, line string, before []frame) frame {
	t.Helper()
	seq := int64(0)
	if n := len(before); n > 0 {
		seq = before[n-1].seq
	}
	first, rest, _ := strings.Cut(line, " ")
	data := map[string]any{"seq": seq}
	var event string
	switch agent, isDelta := strings.CutPrefix(first, "+"); {
	case isDelta:
		event, data["agent"], data["event"] = "delta", agent, json.RawMessage(rest)
	case first == "gap":
		event = "gap"
	case first == "up":
		event, data["status"] = "caught_up", rest
	default:
		event = "record"
		var err error
		if seq, err = strconv.ParseInt(first, 10, 64); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kind, payload, _ := strings.Cut(rest, " ")
		if place, ok := strings.CutPrefix(payload, "@"); ok {
			place, payload, _ = strings.Cut(place, " ")
			data["session"], data["agent"], _ = strings.Cut(place, "/")
			data["session_seq"] = seq
		}
		data["seq"], data["id"], data["kind"], data["payload"] = seq, fmt.Sprint("r", len(before)), kind, json.RawMessage(payload)
		data["time"] = start.Add(time.Duration(seq) * time.Second)
		if n := len(before); n > 0 && before[n-1].seq == seq && before[n-1].Event == "record" {
			before[n-1].more = true
		}
	}
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return frame{Event: event, Data: raw, seq: seq}
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
			if f.Event == "record" && !f.more {
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
	for _, file := range logs(t) {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			list := readFrames(t, file)
			var b strings.Builder
			show(&b, events(t, list, 0))
			last := list[len(list)-1].seq
			fmt.Fprintf(&b, "\n# after %d\n", last/2)
			show(&b, events(t, list, last/2))
			docgen.Golden(t, "testdata/"+name+".golden", b.String())
		})
	}
}

// logs lists the logs in testdata.
func logs(t testing.TB) []string {
	t.Helper()
	recorded, err := filepath.Glob("testdata/*.jsonl")
	short, err2 := filepath.Glob("testdata/*.log")
	if list := append(recorded, short...); err == nil && err2 == nil && len(list) > 0 {
		return list
	}
	t.Fatal(err, err2)
	return nil
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

var kinds = [...]string{"user", "answer", "thinking", "called", "note", "answered", "ended"}

func updateText(u conversation.Update) string {
	switch {
	case u.Discard:
		return "discard"
	case u.Block == nil:
		return fmt.Sprintf("+ %s %q", kinds[u.Kind], u.Delta)
	}
	x := u.Block
	parts := []string{strconv.FormatInt(x.Seq, 10), kinds[x.Kind]}
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
	for _, f := range []struct {
		name string
		on   bool
	}{{"error", c.IsError}, {"unknown", c.Unknown}, {"background", c.Background}, {"running", c.Running}} {
		if f.on {
			parts = append(parts, f.name)
		}
	}
	for _, n := range c.Notes {
		parts = append(parts, fmt.Sprintf("note %q", n))
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
		what := "queued"
		if q.Delivered {
			what = "delivered"
		}
		parts = append(parts, fmt.Sprintf("%s %s %q by %s", what, q.ID, q.Text, q.By))
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
