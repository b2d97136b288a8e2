package logpipe

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

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/policylog"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// over sends an error through a frame.
func over(t *testing.T, err error) error {
	t.Helper()
	var b pipe
	f := frames{rw: &b, in: toInside, out: toInside}
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
	for code, is := range known {
		for _, err := range []error{is, fmt.Errorf("agent: %w", is), &session.Error{Op: "append", Session: "s", Seq: 7, Detail: "d", Hint: "h", Err: is}} {
			got := over(t, err)
			if !errors.Is(got, is) || got.Error() != err.Error() || session.Hint(got) != session.Hint(err) {
				t.Errorf("%s: %v came as %v, hint %q", code, err, got, session.Hint(got))
			}
		}
	}
	if got := over(t, nil); got != nil {
		t.Errorf("no error came as %v", got)
	}
	lease := session.Lease{Epoch: 9, Holder: session.Holder{ID: "h", PID: 4}}
	if busy, ok := errors.AsType[*session.BusyError](over(t, &session.BusyError{Session: "s", Lease: lease})); !ok || busy.Lease != lease || busy.Session != "s" {
		t.Errorf("a busy session came as %+v", busy)
	}
	part := transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "half"}}}
	sent := &model.Error{
		Kind: model.ErrorRateLimit, Provider: "p", Status: 429, RetryAfter: 3 * time.Second, Message: "slow down", Retry: model.RetryNo, Usage: &transcript.Usage{Input: 7}, Cost: new(0.25), Partial: &part, Err: context.DeadlineExceeded,
	}
	me, ok := errors.AsType[*model.Error](over(t, sent))
	if !ok || me.Error() != sent.Error() || me.RetryAfter != sent.RetryAfter || me.Partial.Text() != "half" || !errors.Is(me, context.DeadlineExceeded) || me.Retryable() || !me.Unavailable() || me.Usage == nil || me.Usage.Input != 7 || me.Cost == nil || *me.Cost != 0.25 {
		t.Errorf("a model's error came as %+v", me)
	}
	he, ok := errors.AsType[*agent.HookError](over(t, &agent.HookError{Event: hook.Stop, By: "b", Reason: "r"}))
	if !ok || *he != (agent.HookError{Event: hook.Stop, By: "b", Reason: "r"}) {
		t.Errorf("a hook's error came as %+v", he)
	}
}

// Every event of an agent arrives as it was told.
func TestEvents(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	code := 3
	decision := policy.Decision{Use: "u", Tool: "Bash", Effect: policy.Deny, By: "rule", Reason: "no"}
	for _, e := range []agent.Event{
		agent.SessionOpened{ID: "s", Created: true, Items: 2, Notices: []string{"n"}, Recovery: &session.Recovery{Session: "s", Cut: 3}},
		agent.TurnStarted{Turn: "turn-1"},
		agent.TextDelta{Text: "a<b>&\u2028"},
		agent.ThinkingDelta{Text: "hm"},
		agent.ToolInputDelta{Use: "u", Tool: "Bash", JSON: `{"com`},
		agent.Decided{Decision: decision},
		agent.ApprovalAsked{Question: approval.Question{ID: "q", Tool: "Bash", AskedAt: now}},
		agent.ApprovalResolved{ID: "q", Answer: approval.Answer{Question: "q", Decision: approval.Deny, At: now}, Late: &approval.Answer{Decision: approval.Allow, At: now}},
		agent.PolicyChanged{Change: policy.Change{Mode: policy.ModePlan, Version: 2}},
		agent.ToolStarted{Use: "u", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)},
		agent.ToolFinished{Use: "u", Tool: "Bash", Took: time.Second, Result: tool.Result{
			Content: []transcript.Part{transcript.Text{Text: "out"}, transcript.Media{MIME: "image/png", Data: []byte{0, 1, 255}}},
			IsError: true, ExitCode: &code, Notes: []string{"x"}, Changes: []session.Change{{Path: "/p", Before: "absent", After: "00"}},
		}},
		agent.ToolDetached{Use: "u", Tool: "Bash"},
		agent.SubagentEvent{Use: "u", Session: "c", Name: "Explore", Event: agent.SubagentEvent{Use: "v", Session: "d", Name: "w", Event: agent.Notice{Text: "n"}}},
		agent.ToolsChanged{Tools: []string{"Read"}},
		agent.Compacting{Trigger: "auto"},
		agent.MutationFinished{By: "compact", Moment: agent.AfterToolResult, Dirty: true, Before: 9, After: 2, Trigger: "auto", TokensBefore: 90, TokensAfter: 20},
		agent.UsageUpdated{Model: "m", Usage: transcript.Usage{Input: 1}, Total: transcript.Usage{Input: 2}, CostUSD: 0.5},
		agent.Retrying{Err: &model.Error{Kind: model.ErrorNetwork, Provider: "p", Message: "gone"}, Attempt: 1, Delay: time.Second},
		agent.ModelSwitched{From: "a", To: "b", Err: &model.Error{Kind: model.ErrorOverloaded, Provider: "p"}},
		agent.HookRan{Ran: hook.Ran{Event: hook.Stop, Hooks: []hook.Run{{Name: "h", Exit: &code}}}, Terminal: []string{"\a"}},
		agent.Notified{Title: "t", Body: "b", Level: "info"},
		agent.ModelStarted{Provider: "p", Model: "m", Attempt: 1},
		agent.ModelFinished{Provider: "p", Model: "m", Usage: &transcript.Usage{Output: 4}, Finish: transcript.FinishStop, Took: time.Second},
		agent.Notice{Text: "n"},
		agent.TurnFinished{Turn: "turn-1", Reason: agent.ReasonHook, Err: &agent.HookError{Event: hook.Stop, By: "b"}},
		agent.Result{
			SessionID: "s", Turn: "turn-1", Reason: agent.ReasonFailed, Text: "t", Err: &model.Error{Kind: model.ErrorAuth, Provider: "p", Status: 401},
			Turns: 2, Usage: transcript.Usage{Input: 3}, CostUSD: 1, ByModel: map[string]agent.ModelUsage{"m": {Calls: 2}},
			Denials: []policy.Decision{decision}, Took: time.Minute, TookModel: time.Second, Finish: transcript.FinishStop,
		},
	} {
		w, err := packEvent(e)
		if err != nil {
			t.Errorf("%T: %v", e, err)
			continue
		}
		b, err := encode(&request{Op: opEvent, Event: w})
		if err != nil {
			t.Fatal(err)
		}
		var r request
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		got, err := r.Event.event()
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%T came as\n%+v %v, want\n%+v", e, got, err, e)
		}
	}
}

// An event of an item shows the host's record, whatever the process inside says.
func TestItemsAreTheHosts(t *testing.T) {
	told := make(chan agent.Event, 10)
	b := newBound(t, ServeOptions{Event: func(e agent.Event, _ int) { told <- e }})
	recs, err := b.open().Append(t.Context(), item("a", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	lie := transcript.MustEncode(transcript.UserText("something else"))
	if err := b.c.Tell(agent.ItemAppended{Seq: recs[0].Seq, Item: lie}); err != nil {
		t.Fatal(err)
	}
	if e := (<-told).(agent.ItemAppended); e.Item.Text() != "hello" || e.Seq != recs[0].Seq {
		t.Errorf("told: %+v", e)
	}
	child, err := b.sessions.Create(t.Context(), session.Opened{Owner: b.log.ID()})
	if err != nil {
		t.Fatal(err)
	}
	recs, err = child.Append(t.Context(), item("c", "a child's"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.c.Tell(agent.SubagentEvent{Session: child.ID(), Event: agent.ItemAppended{Seq: recs[0].Seq, Item: lie}}); err != nil {
		t.Fatal(err)
	}
	if e := (<-told).(agent.SubagentEvent).Event.(agent.ItemAppended); e.Item.Text() != "a child's" {
		t.Errorf("told: %+v", e)
	}
	if err := b.c.Tell(agent.ItemAppended{Seq: 99}); err != nil {
		t.Fatal(err)
	}
	<-b.c.Lost() // who tells of what is not there is not listened to any more
}

func TestSpec(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", " \n", "nothing came"},
		{"no JSON", "{", "cannot be read"},
		{"another version", `{"version":2,"session":"s","cwd":"/w","models":[{}],"later":1}`, "version 2"},
		{"an unknown field", `{"version":1,"session":"s","cwd":"/w","models":[{}],"later":1}`, "unknown field"},
		{"more", `{"version":1,"session":"s","cwd":"/w","models":[{}]} {}`, "follows"},
		{"no session", `{"version":1,"cwd":"/w","models":[{}]}`, "needed"},
	} {
		if _, err := ReadSpec(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	want := Spec{
		Version: 1, Session: "s", Cwd: "/w", Models: []model.Info{{Provider: "p", Price: &model.Price{Input: 1}}},
		Given: &settings.Given{User: &settings.GivenFile{Name: "/h/settings.json", Text: "{}"}}, AskTimeout: time.Minute,
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadSpec(bytes.NewReader(b)); err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v %v", got, err)
	}
}

// Frames of any bytes never make the reader fail otherwise than with an error.
func FuzzFrame(f *testing.F) {
	var p pipe
	frame := frames{rw: &p, in: toHost, out: toHost}
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
			blob, err := readFrame(r, &q, toHost)
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
				if e, err := q.Event.event(); err == nil {
					_, _ = packEvent(e)
				}
			}
			_ = q.Error.err()
		}
	})
}

// What a server is sent by somebody who is no client ends the connection, and nothing else.
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
		frame := frames{rw: &p, in: toHost, out: toHost}
		if err := frame.write(&r, nil); err != nil {
			f.Fatal(err)
		}
		f.Add(p.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		bd := newBound(t, ServeOptions{Models: []model.Model{echo{}}})
		s := newServer(&oneWay{Reader: bytes.NewReader(b)}, bd.sessions, ServeOptions{Session: "s", Lease: bd.log.Lease(), Models: []model.Model{echo{}}})
		_ = s.Serve(t.Context())
		if r, err := bd.sessions.Verify(t.Context(), "s"); err != nil || !r.OK() {
			t.Errorf("%+v %v", r, err)
		}
	})
}

// oneWay is a connection whose other side does not listen.
type oneWay struct{ io.Reader }

func (*oneWay) Write(b []byte) (int, error) { return len(b), nil }
func (*oneWay) Close() error                { return nil }

// What a process inside is told to do is read, or refused.
func FuzzSpec(f *testing.F) {
	f.Add([]byte(`{"version":1,"session":"s","cwd":"/w","models":[{}]}`))
	f.Add([]byte(`{"version":2}`))
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

// A record of any kind and content is refused, or leaves a log that is whole and that
// sessions can be listed with.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{
		`{"turn":"t"}`, `{"masked":{"project":"x"}}`, `{"title":"x"}`, `{"mode":"plan"}`, `{"id":"q","requests":[],"digest":""}`,
		`{"item":{"role":"user","id":"a","parts":[{"type":"text","text":"x"}]}}`, `{"reason":"compaction","items":[],"messages":0}`,
	} {
		for i := range session.Kinds() {
			f.Add(uint8(i), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		b := newBound(t, ServeOptions{})
		k := session.Kinds()[int(kind)%len(session.Kinds())]
		err := b.c.Append(t.Context(), "s", b.next("s", k, string(payload), nil))
		m, failed := b.sessions.Get(t.Context(), "s")
		if failed != nil || m.Project != "p" || m.Trashed != "" || m.Tag != "" || m.CWD != "" || (m.Head == 2) != (err == nil) {
			t.Errorf("%s %s (%v) left %+v %v", k, payload, err, m, failed)
		}
		if g, err := policylog.Guards(t.Context(), b.sessions, m); err != nil || len(g.Grants()) > 0 {
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

// A native form that is sent as it came names nothing that is fetched.
func FuzzNative(f *testing.F) {
	f.Add([]byte(`[{"type":"text","text":"a"}]`))
	f.Add([]byte(`{"role":"assistant","content":null,"tool_calls":[{"type":"function"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		root, err := jsontree.Parse(b)
		if err != nil || !saidByModel(&root) {
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
