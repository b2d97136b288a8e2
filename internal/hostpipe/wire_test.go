package hostpipe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// roundTrip sends an error through a frame.
func roundTrip(t *testing.T, err error) error {
	t.Helper()
	var b pipe
	f := frames{rw: &b, in: containerReadLimits, out: containerReadLimits}
	if werr := f.write(&reply{ID: 1, Error: toWire(err)}, nil); werr != nil {
		t.Fatal(werr)
	}
	var r reply
	if _, rerr := f.read(&r); rerr != nil {
		t.Fatal(rerr)
	}
	return r.Error.err()
}

// pipe is a buffer that can be closed.
type pipe struct{ bytes.Buffer }

func (*pipe) Close() error { return nil }

func TestErrors(t *testing.T) {
	for code, is := range errorCodes {
		for _, err := range []error{is, fmt.Errorf("agent: %w", is), &session.Error{Op: "append", Session: "s", Seq: 7, Detail: "d", Hint: "h", Err: is}} {
			got := roundTrip(t, err)
			if !errors.Is(got, is) || got.Error() != err.Error() || session.Hint(got) != session.Hint(err) {
				t.Errorf("%s: %v came as %v, hint %q", code, err, got, session.Hint(got))
			}
		}
	}
	if got := roundTrip(t, nil); got != nil {
		t.Errorf("no error came as %v", got)
	}
	lease := session.Lease{Epoch: 9, Holder: session.Holder{ID: "h", PID: 4}}
	if busy, ok := errors.AsType[*session.BusyError](roundTrip(t, &session.BusyError{Session: "s", Lease: lease})); !ok || busy.Lease != lease || busy.Session != "s" {
		t.Errorf("a busy session came as %+v", busy)
	}
	part := transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "half"}}}
	sent := &model.Error{
		Kind: model.ErrorRateLimit, Provider: "p", Status: 429, RetryAfter: 3 * time.Second, Message: "slow down", Retry: new(false), Usage: &transcript.Usage{Input: 7}, Cost: new(0.25), Partial: &part, Err: context.DeadlineExceeded,
	}
	me, ok := errors.AsType[*model.Error](roundTrip(t, sent))
	if !ok || me.Error() != sent.Error() || me.RetryAfter != sent.RetryAfter || me.Partial.Text() != "half" || !errors.Is(me, context.DeadlineExceeded) || me.Retryable() || !me.Unavailable() || me.Usage == nil || me.Usage.Input != 7 || me.Cost == nil || *me.Cost != 0.25 {
		t.Errorf("a model's error came as %+v", me)
	}
	he, ok := errors.AsType[*event.Error](roundTrip(t, &event.Error{HookEvent: string(hook.Stop), Hook: "b", HookReason: "r"}))
	if !ok || *he != (event.Error{HookEvent: string(hook.Stop), Hook: "b", HookReason: "r"}) {
		t.Errorf("a hook's error came as %+v", he)
	}
}

// Every event of an agent arrives unchanged.
func TestEvents(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	code := 3
	decision := policy.Decision{Use: "u", Tool: "Bash", Effect: policy.Deny, By: "rule", Reason: "no"}
	for _, e := range []event.Event{
		event.SessionOpened{ID: "s", Created: true, Items: 2, Notices: []string{"n"}, Recovery: &session.Recovery{Session: "s", CutBytes: 3}},
		event.TurnStarted{Turn: "turn-1"},
		event.TextDelta{Text: "a<b>&\u2028"},
		event.ThinkingDelta{Text: "hm"},
		event.ToolInputDelta{Use: "u", Tool: "Bash", JSON: `{"com`},
		event.DecisionMade{Decision: decision},
		event.ApprovalAsked{Request: approval.Request{ID: "q", Tool: "Bash", AskedAt: now}},
		event.ApprovalResolved{ID: "q", Answer: approval.Answer{RequestID: "q", Decision: approval.Deny, At: now}, LateAnswer: &approval.Answer{Decision: approval.Allow, At: now}},
		event.PolicyChanged{Change: policy.Change{Mode: policy.ModePlan, Version: 2}},
		event.ToolStarted{Use: "u", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)},
		event.ToolFinished{
			Use: "u", Tool: "Bash", Millis: 1000,
			Content: []transcript.Part{transcript.Text{Text: "out"}, transcript.Media{MIME: "image/png", Data: []byte{0, 1, 255}}},
			IsError: true, ExitCode: &code, Notes: []string{"x"}, Changes: []record.FileChange{{Path: "/p", Before: "absent", After: "00"}},
		},
		event.SubagentEvent{Use: "u", Session: "c", Name: "Explore", Event: event.SubagentEvent{Use: "v", Session: "d", Name: "w", Event: event.Notice{Text: "n"}}},
		event.ToolsChanged{Tools: []string{"Read"}},
		event.CompactionStarted{Trigger: "auto"},
		event.TranscriptRewritten{Mutator: "compact", When: "after_tool_result", Before: 9, After: 2, Trigger: "auto", TokensBefore: 90, TokensAfter: 20},
		event.UsageUpdated{Model: "m", Usage: transcript.Usage{Input: 1}, Total: transcript.Usage{Input: 2}, CostUSD: 0.5},
		event.ModelRetrying{Err: &model.Error{Kind: model.ErrorNetwork, Provider: "p", Message: "gone"}, Attempt: 1, Delay: time.Second},
		event.ModelSwitched{From: "a", To: "b", Err: &model.Error{Kind: model.ErrorOverloaded, Provider: "p"}},
		event.HookRan{Ran: record.HookRan{Event: string(hook.Stop), Hooks: []record.HookRun{{Name: "h", Exit: &code}}}},
		event.TerminalSequences{Sequences: []string{"\a"}},
		event.Notification{Title: "t", Body: "b", Level: "info"},
		event.ModelStarted{Provider: "p", Model: "m", Attempt: 1},
		event.ModelFinished{Provider: "p", Model: "m", Usage: &transcript.Usage{Output: 4}, Finish: transcript.FinishStop, Duration: time.Second},
		event.Notice{Text: "n"},
		event.TurnFinished{Turn: "turn-1", Reason: event.ReasonHook, Err: &event.Error{HookEvent: string(hook.Stop), Hook: "b"}},
		event.Result{
			SessionID: "s", Turn: "turn-1", Reason: event.ReasonFailed, Text: "t", Err: &model.Error{Kind: model.ErrorAuth, Provider: "p", Status: 401},
			Turns: 2, Usage: transcript.Usage{Input: 3}, CostUSD: 1, ByModel: map[string]event.ModelUsage{"m": {Calls: 2}},
			Denials: []policy.Decision{decision}, Duration: time.Minute, ModelDuration: time.Second, Finish: transcript.FinishStop,
		},
	} {
		sent, err := packEvent(e)
		if err != nil {
			t.Errorf("%T: %v", e, err)
			continue
		}
		b, err := jsonscan.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var r request
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		got, err := unpackEvent(&r)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%T came as\n%+v %v, want\n%+v", e, got, err, e)
		}
	}
}

// An event of an item contains the host's record, whatever the process inside sends.
func TestItemsFromHostModels(t *testing.T) {
	events := make(chan event.Event, 10)
	b := newLimitedClient(t, ServeOptions{Event: func(e event.Event, _ int) { events <- e }})
	recs, err := b.open().Append(t.Context(), item("a", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	lie := transcript.UserText("something else").MustEncode()
	if err := b.c.SendEvent(event.ItemAppended{Seq: recs[0].Seq, Item: lie}); err != nil {
		t.Fatal(err)
	}
	if e := (<-events).(event.ItemAppended); e.Item.Text() != "hello" || e.Seq != recs[0].Seq {
		t.Errorf("event: %+v", e)
	}
	child, err := b.sessions.Create(t.Context(), session.Opened{Owner: b.log.ID()})
	if err != nil {
		t.Fatal(err)
	}
	recs, err = child.Append(t.Context(), item("c", "a child's"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.c.SendEvent(event.SubagentEvent{Session: child.ID(), Event: event.ItemAppended{Seq: recs[0].Seq, Item: lie}}); err != nil {
		t.Fatal(err)
	}
	if e := (<-events).(event.SubagentEvent).Event.(event.ItemAppended); e.Item.Text() != "a child's" {
		t.Errorf("event: %+v", e)
	}
	if err := b.c.SendEvent(event.ItemAppended{Seq: 99}); err != nil {
		t.Fatal(err)
	}
	<-b.c.Lost() // an event about an unknown record ends the connection
}

func TestSpec(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", " \n", "standard input is empty"},
		{"no JSON", "{", "invalid run spec"},
		{"another version", `{"version":2,"session":"s","cwd":"/w","models":[{}]}`, "version 2"},
		{"an unknown field", `{"version":3,"session":"s","run":{"cwd":"/w"},"models":[{}],"later":1}`, "unknown field"},
		{"more", `{"version":3,"session":"s","run":{"cwd":"/w"},"models":[{}]} {}`, "unexpected data"},
		{"no session", `{"version":3,"run":{"cwd":"/w"},"models":[{}]}`, "required"},
	} {
		if _, err := ReadSpec(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	want := Spec{
		Version: SpecVersion, Session: "s", Models: []model.Info{{Provider: "p", Price: &model.Price{Input: 1}}},
		Settings: &settings.Portable{User: &settings.PortableFile{Name: "/h/settings.json", Text: "{}"}},
		Run:      runspec.Spec{Cwd: "/w", Permissions: runspec.Permissions{AskTimeout: "1m"}},
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadSpec(bytes.NewReader(b)); err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v %v", got, err)
	}
}

// Frames of any bytes make the reader return an error at worst.
func FuzzFrame(f *testing.F) {
	var p pipe
	frame := frames{rw: &p, in: hostReadLimits, out: hostReadLimits}
	recs := []session.Record{{Seq: 1, ID: "a", Kind: session.KindItem, Payload: json.RawMessage(`{}`)}, {Seq: 2, Kind: session.KindItem}}
	heads, blob := pack(recs)
	if err := frame.write(&request{ID: 1, Op: opAppend, Session: "s", Records: heads}, blob); err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Clone(p.Bytes()))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 2, 0x3f, 0, 0, 0, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		for {
			var q request
			blob, err := readFrame(r, &q, hostReadLimits)
			if err != nil {
				return
			}
			if recs, err := unpack(q.Records, blob); err == nil {
				heads, again := pack(recs)
				if len(heads) != len(q.Records) || !bytes.Equal(again, blob) {
					t.Errorf("%+v came back as %+v", q.Records, heads)
				}
			}
			if q.Event != nil {
				if e, err := unpackEvent(&q); err == nil {
					_, _ = packEvent(e)
				}
			}
			_ = q.Error.err()
		}
	})
}

// Invalid input ends the server's connection, and nothing else.
func FuzzServer(f *testing.F) {
	for _, r := range []request{
		{ID: 1, Op: opRead, Session: "s", Range: &wireRange{}},
		{ID: 1, Op: opStream, Stream: &wireRequest{Keep: 5}},
		{ID: 1, Op: opAcquire, Session: "x"},
		{Op: opEvent},
		{Op: opFailed},
		{ID: 7, Op: opReply},
		{ID: 1, Op: "no"},
	} {
		var p pipe
		frame := frames{rw: &p, in: hostReadLimits, out: hostReadLimits}
		if err := frame.write(&r, nil); err != nil {
			f.Fatal(err)
		}
		f.Add(p.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		bd := newLimitedClient(t, ServeOptions{Models: []model.Model{echo{}}})
		s := newServer(&oneWay{Reader: bytes.NewReader(b)}, bd.sessions, ServeOptions{Session: "s", Lease: bd.log.Lease(), Models: []model.Model{echo{}}})
		_ = s.Serve(t.Context())
		if r, err := bd.sessions.Verify(t.Context(), "s"); err != nil || !r.OK() {
			t.Errorf("%+v %v", r, err)
		}
	})
}

// oneWay is a connection whose peer does not read.
type oneWay struct{ io.Reader }

func (*oneWay) Write(b []byte) (int, error) { return len(b), nil }
func (*oneWay) Close() error                { return nil }

// A process's spec is decoded or rejected.
func FuzzSpec(f *testing.F) {
	f.Add([]byte(`{"version":3,"session":"s","run":{"cwd":"/w"},"models":[{}]}`))
	f.Add([]byte(`{"version":3}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadSpec(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSpec(bytes.NewReader(again)); err != nil && len(s.Input) == 0 {
			t.Errorf("%s came back with %v", again, err)
		}
		_, _ = DecodeParts(s.Input)
	})
}

// A record of any kind and content is refused, or leaves a valid log whose session can be listed.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{
		`{"turn":"t"}`, `{"masked":{"project":"x"}}`, `{"title":"x"}`, `{"mode":"plan"}`, `{"id":"q","requests":[],"digest":""}`,
		`{"item":{"role":"user","id":"a","parts":[{"type":"text","text":"x"}]}}`, `{"reason":"compaction","items":[],"messages":0}`,
	} {
		for i := range record.Kinds() {
			f.Add(uint8(i), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		b := newLimitedClient(t, ServeOptions{})
		k := session.Kind(record.Kinds()[int(kind)%len(record.Kinds())])
		err := b.c.Append(t.Context(), "s", b.next("s", k, string(payload), nil))
		m, failed := b.sessions.Get(t.Context(), "s")
		if failed != nil || m.Project != "p" || m.Trashed != "" || m.Tag != "" || m.CWD != "" || (m.Head == 2) != (err == nil) {
			t.Errorf("%s %s (%v) left %+v %v", k, payload, err, m, failed)
		}
		if g, err := sessionpolicy.Guards(t.Context(), b.sessions, m); err != nil || len(g.Grants()) > 0 {
			t.Errorf("%s %s left a policy that cannot be replayed, or grants: %v", k, payload, err)
		}
		if _, err := approval.Pending(t.Context(), b.sessions, ""); err != nil {
			t.Errorf("%s %s: questions cannot be listed: %v", k, payload, err)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Error(err)
		}
	})
}

// A native form that is sent unchanged contains no URL that is fetched.
func FuzzNative(f *testing.F) {
	f.Add([]byte(`[{"type":"text","text":"a"}]`))
	f.Add([]byte(`{"role":"assistant","content":null,"tool_calls":[{"type":"function"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		root, err := jsontree.Parse(b)
		if err != nil || !isModelMessage(&root) {
			return
		}
		var list []map[string]any
		var message map[string]any
		if json.Unmarshal(b, &list) == nil {
			for _, block := range list {
				if kind := block["type"]; kind == "image" || kind == "document" || kind == nil {
					t.Errorf("%s passes", b)
				}
			}
		} else if json.Unmarshal(b, &message) != nil || message["role"] != "assistant" {
			t.Errorf("%s passes", b)
		}
	})
}
