package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace/claude"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// tape is a process that replays a recording.
type tape struct {
	out io.Reader
	in  *writtenInput
}

type writtenInput struct {
	mu  sync.Mutex
	b   strings.Builder
	got chan struct{} // receives once per write; may be nil
}

func (s *writtenInput) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got != nil {
		s.got <- struct{}{}
	}
	return s.b.Write(b)
}

// Read returns the end of the turn after the initialization and the message were written.
func (s *writtenInput) Read(b []byte) (int, error) {
	<-s.got
	<-s.got
	return copy(b, over+"\n"), nil
}
func (s *writtenInput) Close() error { return nil }

func (t *tape) Stdin() io.WriteCloser { return t.in }
func (t *tape) Stdout() io.Reader     { return t.out }
func (t *tape) Stderr() string        { return "" }

// notes is a sink that records its calls as text.
type notes struct {
	mu     sync.Mutex
	calls  []string
	asked  []string
	items  []transcript.Item
	answer vendor.Answer
}

func (n *notes) record(format string, args ...any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, fmt.Sprintf(format, args...))
	return nil
}

func (n *notes) SessionStarted(id string) error { return n.record("began %s", id[max(len(id)-4, 0):]) }
func (n *notes) Delta(d vendor.Delta) error     { return n.record("delta %s%s", d.Text, d.Thinking) }
func (n *notes) Running(use string) error       { return n.record("running %s", use) }
func (n *notes) Notice(text string) error       { return n.record("notice %s", text) }

func (n *notes) Item(it transcript.Item) error {
	n.items = append(n.items, it)
	word := string(it.Role)
	for _, p := range it.Parts {
		switch p := p.(type) {
		case transcript.Text:
			word += " text " + p.Text
		case transcript.ToolUse:
			word += " use " + p.ID
		case transcript.ToolResult:
			word += " result " + p.UseID
			if p.IsError {
				word += " error"
			}
		}
	}
	return n.record("%s", word)
}

func (n *notes) Permit(_ context.Context, p vendor.Permission) (vendor.Answer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, p.Use+" "+p.Tool)
	return n.answer, nil
}

func replay(t testing.TB, wire io.Reader, turn vendor.Turn, n *notes) (vendor.End, string, error) {
	t.Helper()
	p := &tape{out: wire, in: &writtenInput{}}
	end, err := claude.Driver{}.Run(t.Context(), turn, p, n)
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	return end, p.in.b.String(), err
}

// Recordings of version 2.1.197 against a test model server.
func TestRecorded(t *testing.T) {
	for _, c := range []struct {
		file   string
		resume bool
		calls  []string
		asked  []string
		end    vendor.End
	}{
		{"text", false, []string{"began 5555", "delta First answer.", "assistant text First answer."}, nil, vendor.End{Text: "First answer.", Turns: 1}},
		{"no-partials", false, []string{"began 5555", "assistant text First answer."}, nil, vendor.End{Text: "First answer.", Turns: 1}},
		{"three-tools", false, []string{
			"began 5556", "assistant use toolu_r1 use toolu_r2 use toolu_r3", "tool result toolu_r1", "tool result toolu_r2", "tool result toolu_r3",
			"assistant use toolu_r1 use toolu_r2 use toolu_r3", "tool result toolu_r1", "tool result toolu_r2", "tool result toolu_r3",
			"delta Fallback answer.", "assistant text Fallback answer.",
		}, []string{"toolu_r1 Read", "toolu_r2 Bash", "toolu_r3 Bash", "toolu_r1 Read", "toolu_r2 Bash", "toolu_r3 Bash"}, vendor.End{Text: "Fallback answer.", Turns: 7}},
		{"denied", false, []string{"began 5555", "assistant use toolu_w1", "tool result toolu_w1 error", "assistant text The file is written."}, []string{"toolu_w1 Bash"}, vendor.End{Text: "The file is written.", Turns: 2}},
		{"interrupted", false, []string{"began 5555", "assistant use toolu_w1", "tool result toolu_w1 error"}, nil, vendor.End{Turns: 3}},
		{"resume-missing", true, nil, nil, vendor.End{Failure: "No conversation found with session ID: 99999999-2222-4333-8444-555555555555", ResumeFailed: true}},
	} {
		t.Run(c.file, func(t *testing.T) {
			f, err := os.Open(filepath.Join("testdata", c.file+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			n := &notes{answer: vendor.Answer{Allow: true}}
			end, _, err := replay(t, f, vendor.Turn{Session: "x", Resume: c.resume}, n)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(n.calls, c.calls) {
				t.Errorf("got %q, want %q", n.calls, c.calls)
			}
			slices.Sort(n.asked)
			slices.Sort(c.asked)
			if c.asked != nil && !slices.Equal(n.asked, c.asked) {
				t.Errorf("asked %q, want %q", n.asked, c.asked)
			}
			if c.file == "interrupted" {
				if end.Failure == "" || end.ResumeFailed {
					t.Errorf("ended %+v", end)
				}
				return
			}
			if end != c.end {
				t.Errorf("ended %+v, want %+v", end, c.end)
			}
		})
	}
}

// lines is the wire text of a few events.
func lines(events ...string) io.Reader { return strings.NewReader(strings.Join(events, "\n") + "\n") }

const over = `{"type":"result","subtype":"success","is_error":false,"result":"ok"}`

func TestWire(t *testing.T) {
	for _, c := range []struct {
		name  string
		wire  []string
		calls []string
		err   error
	}{
		{"the same text twice", []string{
			`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hello"}}}`,
			`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hello"}}}`, over,
		}, []string{"delta Hello", "delta Hello"}, nil},
		{"thinking", []string{
			`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}}`, over,
		}, []string{"delta hm"}, nil},
		{"a sub-agent speaks for itself", []string{
			`{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"m","content":[{"type":"text","text":"sub"}]}}`,
			`{"type":"stream_event","parent_tool_use_id":"t1","event":{"type":"content_block_delta","delta":{"text":"sub"}}}`,
			`{"type":"user","parent_tool_use_id":"t1","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":"y"}]}}`, over,
		}, nil, nil},
		{"old names in a result", []string{
			`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}},{"type":"tool_result","toolUseId":"t1","content":"file.txt","isError":false}]}}`, over,
		}, []string{"assistant use t1 result t1"}, nil},
		{"a use is asked about before its message is whole", []string{
			`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}`,
			`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t1"}}`,
			`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"more"}]}}`, over,
		}, []string{"assistant use t1", "assistant text more"}, nil},
		{
			"nonsense",
			[]string{`]`, `{"type":5}`, `"x"`, `{"type":"assistant"}`, `{"type":"user","message":{"content":5}}`, `{"type":"stream_event"}`, `{"type":"control_request","request_id":"q"}`, over},
			[]string{"notice not an event: ]", `notice not an event: {"type":5}`, `notice not an event: "x"`, "notice control_request without a request"},
			nil,
		},
		{"silence", []string{`{"type":"system","subtype":"init","session_id":"12345"}`}, []string{"began 2345"}, io.ErrUnexpectedEOF},
		{"silence after half a message", []string{`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"half"}]}}`}, []string{"assistant text half"}, io.ErrUnexpectedEOF},
		{"a result with numbers of another kind", []string{
			`{"type":"result","subtype":"success","is_error":false,"result":"ok","usage":{"input_tokens":1.5},"total_cost_usd":"much","num_turns":-1,"errors":[{}]}`,
		}, nil, nil},
		{"a result and then more", []string{over, `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"late"}]}}`, over}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &notes{}
			_, _, err := replay(t, lines(c.wire...), vendor.Turn{}, n)
			if !errors.Is(err, c.err) || !slices.Equal(n.calls, c.calls) {
				t.Errorf("got %q, %v; want %q", n.calls, err, c.calls)
			}
		})
	}
}

func TestUsageIsCountedOnce(t *testing.T) {
	n := &notes{}
	_, _, err := replay(t, lines(
		`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","usage":{"input_tokens":7,"cache_read_input_tokens":5,"output_tokens":1}}}}`,
		`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":7,"output_tokens":1}}}`,
		`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"b"}],"usage":{"input_tokens":7,"output_tokens":1}}}`,
		`{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}}`,
		`{"type":"stream_event","event":{"type":"message_stop"}}`, over,
	), vendor.Turn{}, n)
	if err != nil || len(n.items) != 1 || *n.items[0].Usage != (transcript.Usage{Input: 7, CacheRead: 5, Output: 9}) || n.items[0].Finish != transcript.FinishStop {
		t.Errorf("%v, %+v", err, n.items)
	}
}

func TestCommand(t *testing.T) {
	for _, c := range []struct {
		turn      vendor.Turn
		has, lack string
	}{
		{vendor.Turn{Session: "s"}, "--session-id s", "--resume"},
		{vendor.Turn{Session: "s", Resume: true}, "--resume s", "--session-id"},
		{vendor.Turn{Session: "s", Model: "opus", System: "be kind"}, "--model opus --append-system-prompt be kind", "--resume"},
	} {
		got := strings.Join(claude.Driver{}.Command(c.turn).Args, " ")
		if !strings.HasPrefix(got, "claude -p ") || !strings.Contains(got, c.has) || strings.Contains(got, c.lack) {
			t.Errorf("%+v: %s", c.turn, got)
		}
	}
	if got := (claude.Driver{Start: []string{"/opt/claude", "--debug"}}).Command(vendor.Turn{}).Args; got[0] != "/opt/claude" || got[1] != "--debug" || got[2] != "-p" {
		t.Errorf("%q", got)
	}
}

func TestTranscript(t *testing.T) {
	for dir, want := range map[string]string{
		"/work": ".claude/projects/-work/s.jsonl", "/tmp/a.b_c d": ".claude/projects/-tmp-a-b-c-d/s.jsonl", "/" + strings.Repeat("x", 300): "",
	} {
		if got := (claude.Driver{}).Transcript("s", dir); got != want {
			t.Errorf("%s: %q", dir, got)
		}
	}
}

func TestInputIsSent(t *testing.T) {
	in := &writtenInput{got: make(chan struct{}, 2)}
	_, err := claude.Driver{}.Run(t.Context(), vendor.Turn{Input: []transcript.Part{
		transcript.Text{Text: "look"}, transcript.Media{MIME: "image/png", Data: []byte{1}}, transcript.File{Name: "n", MIME: "text/plain", Data: []byte("abc")},
	}}, &tape{out: in, in: in}, &notes{})
	if err != nil {
		t.Fatal(err)
	}
	sent := strings.Split(strings.TrimSpace(in.b.String()), "\n")
	if len(sent) != 2 || !json.Valid([]byte(sent[0])) || !strings.Contains(sent[0], `"hookCallbackIds":["ask"]`) {
		t.Fatalf("sent %q", sent)
	}
	const want = `{"message":{"content":[{"text":"look","type":"text"},{"source":{"data":"AQ==","media_type":"image/png","type":"base64"},"type":"image"},` +
		`{"text":"[file n]\nabc","type":"text"}],"role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}`
	if sent[1] != want {
		t.Errorf("sent %s", sent[1])
	}
}

func FuzzWire(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		n := &notes{}
		end, _, err := replay(t, strings.NewReader(string(wire)), vendor.Turn{Resume: true}, n)
		if err == nil && end.ResumeFailed && end.Failure == "" {
			t.Errorf("%+v", end)
		}
		for _, it := range n.items {
			if _, err := it.Encode(); err != nil {
				t.Errorf("an item that cannot be kept: %v", err)
			}
		}
	})
}
