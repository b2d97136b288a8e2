package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// draft is a record to be.
type draft struct {
	kind    session.Kind
	payload any
}

func calls(uses ...transcript.ToolUse) draft {
	it := transcript.Item{ID: "i" + uses[0].ID, Role: transcript.RoleAssistant, Model: "m", Finish: transcript.FinishToolUse}
	for _, u := range uses {
		it.Parts = append(it.Parts, u)
	}
	e, err := it.Encode()
	if err != nil {
		panic(err)
	}
	return draft{session.KindItem, session.ItemDraft(e, false, nil).Payload}
}

// mutableStore is a store whose payloads can be erased and changed.
type mutableStore struct {
	*memory.Store
	erased map[int64]bool
	change func(*session.Record) error
}

func (s *mutableStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		for rec, err := range s.Store.Read(ctx, id, r) {
			if s.erased[rec.Seq] {
				rec.Payload = nil
			}
			if err == nil && s.change != nil {
				err = s.change(&rec)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// newSessions makes the sessions of a test. Its clock advances by one second for each call.
func newSessions(t *testing.T) (*session.Sessions, *mutableStore) {
	t.Helper()
	store := &mutableStore{Store: memory.New(), erased: map[int64]bool{}}
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	ids := 0
	return session.New(store, &session.Options{
		Clock: func() time.Time { at = at.Add(time.Second); return at },
		NewID: func() string { ids++; return fmt.Sprint("r", ids) },
	}), store
}

// log writes a session. The opened record is the first.
func log(t *testing.T, s *session.Sessions, id string, drafts ...draft) *session.Log {
	t.Helper()
	l, err := s.Create(t.Context(), session.Opened{SessionID: id, User: "ann", CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, drafts...)
	return l
}

func add(t *testing.T, l *session.Log, drafts ...draft) {
	t.Helper()
	for _, d := range drafts {
		sd, err := session.NewDraft(d.kind, d.payload)
		if err == nil {
			_, err = l.Append(t.Context(), sd)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func entries(t *testing.T, s *session.Sessions, id string, o *audit.ReadOptions) []audit.Entry {
	t.Helper()
	var list []audit.Entry
	for e, err := range audit.Read(t.Context(), s, id, o) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// lines are entries in short: "3 decision allow by rule Bash(ls) for ann: command ls".
func lines(list []audit.Entry) (out []string) {
	for _, e := range list {
		s := fmt.Sprintf("%d %s %s by %s", e.Seq, e.Kind, e.Action, e.Actor)
		if e.OnBehalfOf != "" {
			s += " for " + e.OnBehalfOf
		}
		if e.Outcome != "" {
			s += " → " + e.Outcome
		}
		for _, r := range e.Resources {
			s += " [" + strings.TrimSpace(r.Operation+" "+r.Name) + "]"
		}
		out = append(out, s)
	}
	return out
}

func chained(t *testing.T, list []audit.Entry) {
	t.Helper()
	prev := ""
	for _, e := range list {
		if err := e.CheckAfter(prev); err != nil {
			t.Error(err)
		}
		prev = e.Digest
	}
}

func decide(use, tool, by string, effect policy.Effect, more func(*policy.Decision)) draft {
	d := policy.Decision{Use: use, Tool: tool, Effect: effect, By: by, Mode: policy.ModeDefault, Digests: []string{"d-" + use}}
	if more != nil {
		more(&d)
	}
	return draft{record.KindDecision, d}
}

func start(use, tool string) draft {
	return draft{record.KindToolStarted, record.ToolStarted{Use: use, Tool: tool}}
}

func finish(use, tool string) draft {
	return draft{record.KindToolFinished, record.ToolFinished{Use: use, Tool: tool, Millis: 7}}
}

// result is the item that answers a use.
func result(use string) draft {
	e := transcript.ToolResult{UseID: use, Content: []transcript.Part{transcript.Text{Text: "it goes on"}}}.Item().MustEncode()
	return draft{session.KindItem, session.ItemDraft(e, false, nil).Payload}
}

func ask(id, use, tool string, reqs ...policy.Request) draft {
	return draft{record.KindApprovalAsked, approval.Request{ID: id, Use: use, Tool: tool, Requests: reqs, AskedBy: "mode default", ReasonText: "mode default asks", Mode: policy.ModeDefault}}
}

func reply(id string, d approval.Decision, by, via string) draft {
	return draft{record.KindApprovalResolved, approval.Answer{RequestID: id, Decision: d, Actor: by, Via: via}}
}

var bashLs = policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "ls", Cwd: "/w"}

func TestDecisionActors(t *testing.T) {
	rule := &policy.Origin{Rule: "Bash(ls:*)", Layer: "user", File: "/h/settings.json", Line: 4, Col: 9}
	touch := func(d *policy.Decision) { d.Touches = []policy.Target{{Operation: policy.OpCommand, Resource: "ls"}} }
	with := func(more func(*policy.Decision)) func(*policy.Decision) {
		return func(d *policy.Decision) { touch(d); more(d) }
	}
	asked := with(func(d *policy.Decision) { d.PersonAsked, d.AskReason = true, record.ReasonAsk })
	for _, c := range []struct {
		name   string
		drafts []draft
		want   string
	}{
		{"a rule", []draft{decide("u", "Bash", "rules", policy.Allow, with(func(d *policy.Decision) { d.Rule = rule }))}, "allow by rule Bash(ls:*)"},
		{"the mode", []draft{decide("u", "Bash", "mode plan", policy.Deny, touch)}, "deny by mode plan"},
		{"a hook", []draft{decide("u", "Bash", "hook check.sh --fast", policy.Deny, touch)}, "deny by hook check.sh --fast"},
		{"a grant", []draft{decide("u", "Bash", "grants", policy.Allow, with(func(d *policy.Decision) { d.Grant = "g1" }))}, "allow by grant g1"},
		{"the callback", []draft{decide("u", "Bash", "canUseTool", policy.Allow, touch)}, "allow by callback canUseTool"},
		{"a limit", []draft{decide("u", "Bash", "protected-paths", policy.Deny, touch)}, "deny by policy protected-paths"},
		{"a sandbox", []draft{decide("u", "Bash", "sandbox project", policy.Deny, touch)}, "deny by sandbox project"},
		{"nobody", []draft{decide("u", "Bash", "nobody", policy.Deny, touch)}, "deny by nobody"},
		{"a person", []draft{ask("q", "u", "Bash", bashLs), reply("q", approval.Allow, "bob", "cli"), decide("u", "Bash", "bob", policy.Allow, asked)}, "allow by person bob via cli"},
		{"a person without a name", []draft{ask("q", "u", "Bash", bashLs), reply("q", approval.Allow, "", "terminal"), decide("u", "Bash", "person", policy.Allow, asked)}, "allow by person via terminal"},
		{"a person who is called like a link", []draft{ask("q", "u", "Bash", bashLs), reply("q", approval.Deny, "rules", "cli"), decide("u", "Bash", "rules", policy.Deny, asked)}, "deny by person rules via cli"},
		{"a rule that came after the yes", []draft{
			ask("q", "u", "Bash", bashLs), reply("q", approval.Allow, "rules", "cli"),
			decide("u", "Bash", "rules", policy.Deny, func(d *policy.Decision) {
				asked(d)
				d.Rule, d.Contributions = rule, []policy.Contribution{{Policy: "rules", Verdict: policy.Verdict{Effect: policy.Deny}}}
			}),
		}, "deny by rule Bash(ls:*)"},
		{"nobody in time", []draft{ask("q", "u", "Bash", bashLs), reply("q", approval.Deny, "timeout", ""), decide("u", "Bash", "timeout", policy.Deny, asked)}, "deny by nobody timeout"},
		{"an interrupt", []draft{ask("q", "u", "Bash", bashLs), reply("q", approval.Deny, "interrupt", ""), decide("u", "Bash", "interrupt", policy.Deny, asked)}, "deny by program interrupt"},
		{"what was approved had changed", []draft{ask("q", "u", "Bash", bashLs), reply("q", approval.Allow, "bob", "cli"), decide("u", "Bash", "approval", policy.Deny, asked)}, "deny by program approval"},
		{"the first of two answers", []draft{
			ask("q", "u", "Bash", bashLs), reply("q", approval.Allow, "bob", "cli"), reply("q", approval.Deny, "eve", "cli"),
			decide("u", "Bash", "bob", policy.Allow, asked),
		}, "allow by person bob via cli"},
		{"asked anew after a restart", []draft{
			ask("q1", "u", "Bash", bashLs), reply("q1", approval.Deny, "restart", ""), ask("q2", "u", "Bash", bashLs),
			reply("q2", approval.Allow, "bob", "cli"), decide("u", "Bash", "bob", policy.Allow, asked),
		}, "allow by person bob via cli"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := newSessions(t)
			log(t, s, "s", c.drafts...)
			list := entries(t, s, "s", nil)
			chained(t, list)
			last := list[len(list)-1]
			if got := last.Action + " by " + last.Actor.String(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if last.OnBehalfOf != "ann" || len(last.Resources) != 1 || last.Resources[0] != (audit.Resource{Operation: string(policy.OpCommand), Name: "ls"}) {
				t.Errorf("for %q about %v", last.OnBehalfOf, last.Resources)
			}
		})
	}
}

func TestEveryKindOfEntry(t *testing.T) {
	s, _ := newSessions(t)
	exit := 2
	text := "x"
	log(t, s, "s",
		draft{record.KindTurnOpened, record.TurnOpened{Turn: "t1"}},
		calls(transcript.ToolUse{ID: "a", Name: "Write", Input: json.RawMessage(`{"file_path":"/w/a"}`)}, transcript.ToolUse{ID: "b", Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)}),
		draft{record.KindHookRan, record.HookRan{Event: "PreToolUse", Use: "a", Tool: "Write", Hooks: []record.HookRun{
			{Name: "quiet.sh", Type: "command", Millis: 3}, {Name: "deny.sh", Type: "command", Millis: 4, Exit: &exit, Effect: "deny", Reason: "no", Source: "/w/s.json:3"},
		}}},
		decide("a", "Write", "mode acceptEdits", policy.Allow, func(d *policy.Decision) { d.Agent, d.Sandbox, d.Profile = "tests", "the kernel", "p1" }), // 5, of an older log
		start("a", "Write"),
		draft{record.KindToolFinished, record.ToolFinished{Use: "a", Tool: "Write", Millis: 12, Changes: []record.FileChange{{Path: "/w/a", Before: "absent", After: "ff"}}}},
		draft{record.KindPolicyChanged, policy.Change{Mode: policy.ModePlan, By: "bob", Version: 1}},
		draft{record.KindPolicyChanged, policy.Change{Grant: &policy.Grant{ID: "g", Effect: policy.Allow, Tool: "Bash", Scope: "Bash(make:*)", By: "bob"}, By: "bob", Version: 2}},
		draft{record.KindPolicyChanged, policy.Change{Patch: &policy.Patch{Mode: "write", Allow: []string{"src/**"}, Deny: []string{"x"}, Default: policy.Ask}, By: "hook trust.sh", Version: 3}},
		draft{record.KindPolicyChanged, policy.Change{Revoke: "g", By: "bob"}},
		ask("q", "b", "Bash", policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "make"}, policy.Request{Tool: "Bash", Operation: policy.OpWrite, Resource: "/w/out"}),
		reply("q", approval.AllowSession, "bob", "websocket"),
		decide("b", "Bash", "bob", policy.Allow, func(d *policy.Decision) { d.PersonAsked = true }),
		start("b", "Bash"),
		draft{record.KindMetaChanged, session.MetaPatch{Title: &text}},
		decide("b", "WebFetch", "nobody", policy.Deny, func(d *policy.Decision) {
			d.Touches = []policy.Target{{Operation: policy.OpConnect, Resource: "evil.example:443"}}
		}), // 17, while b runs
		draft{record.KindToolFinished, record.ToolFinished{Use: "b", Tool: "Bash", IsError: true, ExitCode: &exit, Millis: 900}},
		draft{record.KindHookRan, record.HookRan{Event: "Stop", Silent: 3}},
		draft{record.KindPolicyChanged, policy.Change{Ended: true}},
		draft{record.KindTurnClosed, record.TurnClosed{Turn: "t1", Reason: "completed"}},
		draft{record.KindRedacted, record.Redacted{Seqs: []int64{7, 3, 4, 5, 9}, Reason: "a key", By: "bob"}},
	)
	list := entries(t, s, "s", nil)
	chained(t, list)
	want := []string{
		"1 session open by person ann for ann [folder /w]",
		"4 hook deny by hook deny.sh for ann → ok",
		"5 decision allow by mode acceptEdits for ann (tests) [fs.write /w/a]",
		"7 effect run by program for ann (tests) → ok [fs.write /w/a]",
		"8 policy mode by person bob for ann → plan",
		"9 policy grant by person bob for ann → allow [Bash(make:*)]",
		"10 policy patch by hook trust.sh for ann [fs.write deny x] [fs.write allow src/**] [fs.write default ask]",
		"11 policy revoke by person bob for ann",
		"12 approval ask by mode default for ann [command.execute make] [fs.write /w/out]",
		"13 approval answer by person bob via websocket for ann → allow-session [command.execute make] [fs.write /w/out]",
		"14 decision allow by person bob via websocket for ann [command.execute make] [fs.write /w/out]",
		"17 decision deny by nobody for ann [net.connect evil.example:443]",
		"18 effect run by program for ann → error [command.execute make] [fs.write /w/out]",
		"19 hook fire by hook 3 functions for ann → ok",
		"20 policy end by program for ann",
		"22 redaction erase by person bob for ann [records 3-5, 7, 9]",
	}
	if diff := cmp.Diff(want, lines(list)); diff != "" {
		t.Error(diff)
	}
	wrote := list[3]
	if wrote.Profile != "p1" || wrote.Sandbox != "the kernel" || wrote.Millis != 12 || !reflect.DeepEqual(wrote.Requests, []string{"d-a"}) ||
		!reflect.DeepEqual(wrote.Changes, []record.FileChange{{Path: "/w/a", Before: "absent", After: "ff"}}) {
		t.Errorf("the effect: %+v", wrote)
	}
	if h := list[1]; h.Event != "PreToolUse" || h.Millis != 7 || *h.ExitCode != 2 || h.Reason != "no" || len(h.Hooks) != 2 || h.Hooks[1].Source != "/w/s.json:3" {
		t.Errorf("the hooks: %+v", h)
	}
	if q := list[8]; len(q.Requests) != 2 || len(q.Requests[0]) != 64 || q.Question != "q" || list[10].Question != "q" {
		t.Errorf("the question: %+v, the decision's %q", q, list[10].Question)
	}
}

func TestRunEntries(t *testing.T) {
	s, _ := newSessions(t)
	type event = map[string]any
	strategy := event{"name": "review", "cwd": "/w", "mode": "plan", "agents": []string{"a"}, "flow": event{}}
	var drafts []draft
	for _, e := range []event{
		{"event": "started", "status": "running", "segment": 1, "by": "ann", "via": "websocket", "strategy": strategy, "input": "hello"},
		{"event": "step_started", "step": "0", "agent": "a"},
		{"event": "relayed", "agent": "a", "session": "s.a", "from": 1, "to": 2},
		{"event": "steered", "by": "bob", "via": "console", "text": "faster"},
		{"event": "input_asked", "agent": "a", "input_id": "i1"},
		{"event": "input_given", "agent": "a", "input_id": "i1", "by": "bob", "via": "cli", "text": "yes"},
		{"event": "interrupted", "status": "interrupted", "code": "INTERRUPTED"},
		{"event": "started", "status": "running", "segment": 2, "resumed": true},
		{"event": "failed", "status": "failed", "code": "EXECUTION_ERROR", "message": "no model"},
		{"event": "started", "status": "running", "segment": 3, "by": "timeout", "via": "http"},
		{"event": "cancelled", "status": "cancelled", "by": "bob", "via": "cli"},
		{"event": "completed", "status": "completed", "strategy": strategy},
		{"event": "policy_updated"},
		{"event": "of a later version"},
		{"event": "steering_withdrawn", "by": "bob", "via": "http", "steering": []string{"t1"}},
		{"event": "subagent_steered", "by": "bob", "via": "cli", "agent": "scout", "session": "s2", "text": "there"},
		{"event": "subagent_stopped", "by": "bob", "via": "cli", "agent": "scout", "session": "s2"},
	} {
		drafts = append(drafts, draft{record.KindRunEvent, e})
	}
	log(t, s, "s", drafts...)
	list := entries(t, s, "s", nil)
	chained(t, list)
	want := []string{
		"1 session open by person ann for ann [folder /w]",
		"2 run start by person ann via websocket for ann [strategy review] [folder /w]",
		"5 run steer by person bob via console for ann",
		"7 run input by person bob via cli for ann [agent a]",
		"8 run interrupt by program for ann",
		"9 run continue by program for ann",
		"10 run fail by program for ann → error",
		"11 run continue by person timeout via http for ann",
		"12 run stop by person bob via cli for ann",
		"13 run complete by program for ann → ok [strategy review] [folder /w]",
		"16 run withdraw by person bob via http for ann",
		"17 run steer by person bob via cli for ann [agent scout]",
		"18 run stop by person bob via cli for ann [agent scout]",
	}
	if diff := cmp.Diff(want, lines(list)); diff != "" {
		t.Error(diff)
	}
	if list[1].Mode != "plan" || list[6].Reason != "no model" || list[4].Reason != "INTERRUPTED" || list[3].Question != "i1" {
		t.Errorf("%+v", list)
	}
	if got := entries(t, s, "s", &audit.ReadOptions{Kinds: []string{audit.KindRun}}); len(got) != 12 {
		t.Errorf("%d entries are of runs", len(got))
	}
}

func TestOutcomes(t *testing.T) {
	ended := func(outcome string) draft {
		return draft{record.KindToolFinished, record.ToolFinished{Use: "a", Tool: "Bash", IsError: true, Outcome: outcome}}
	}
	closed := draft{record.KindTurnClosed, record.TurnClosed{Turn: "t", Reason: "interrupted"}}
	before := []draft{decide("a", "Bash", "mode auto", policy.Allow, func(d *policy.Decision) {
		d.Touches = []policy.Target{{Operation: policy.OpCommand, Resource: "ls"}}
	}), start("a", "Bash")}
	other := decide("b", "Read", "mode auto", policy.Allow, nil)
	for _, c := range []struct {
		name string
		rest []draft
		want []string
	}{
		{"it is not known how it ended", []draft{ended(record.OutcomeUnknown)}, []string{"4 effect run by program for ann → unknown [command.execute ls]"}},
		{"it was not run", []draft{ended(record.OutcomeNotRun)}, []string{"4 effect run by program for ann → not-run [command.execute ls]"}},
		{"it failed", []draft{ended("")}, []string{"4 effect run by program for ann → error [command.execute ls]"}},
		{"there is no end", nil, []string{"3 effect run by program for ann → unknown [command.execute ls]"}},
		{"there is no end, and more", []draft{other}, []string{"3 effect run by program for ann → unknown [command.execute ls]", "4 decision allow by mode auto for ann [Read]"}},
		{"the turn ended without", []draft{closed, other}, []string{"3 effect run by program for ann → unknown [command.execute ls]", "5 decision allow by mode auto for ann [Read]"}},
		{
			"it goes on in the background",
			[]draft{result("a"), closed, other, finish("a", "Bash")},
			[]string{
				"3 effect run by program for ann → background [command.execute ls]", "6 decision allow by mode auto for ann [Read]",
				"7 effect run by program for ann → ok [command.execute ls]",
			},
		},
		{
			"it was lost in the background",
			[]draft{result("a"), closed, ended(record.OutcomeUnknown)},
			[]string{"3 effect run by program for ann → background [command.execute ls]", "6 effect run by program for ann → unknown [command.execute ls]"},
		},
		{"two at once", []draft{start("c", "Read"), finish("c", "Read"), finish("a", "Bash")}, []string{"5 effect run by program for ann → ok", "6 effect run by program for ann → ok [command.execute ls]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := newSessions(t)
			log(t, s, "s", append(before[:2:2], c.rest...)...)
			list := entries(t, s, "s", nil)
			chained(t, list)
			if diff := cmp.Diff(c.want, lines(list)[2:]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErasedRecordsHaveEntries(t *testing.T) {
	s, store := newSessions(t)
	drafts := []draft{
		decide("a", "Bash", "mode auto", policy.Allow, nil), start("a", "Bash"), finish("a", "Bash"), // 2 3 4
		ask("q", "b", "Bash", bashLs), reply("q", approval.Deny, "bob", "cli"), // 5 6
		{record.KindHookRan, record.HookRan{Event: "Stop", Silent: 1}}, // 7
		calls(transcript.ToolUse{ID: "c", Name: "Read", Input: json.RawMessage(`{}`)}),
	}
	log(t, s, "s", drafts...)
	whole := entries(t, s, "s", nil)
	for seq := int64(1); seq <= 8; seq++ {
		store.erased = map[int64]bool{seq: true}
		list := entries(t, s, "s", nil)
		chained(t, list)
		found := 0
		for _, e := range list {
			if e.Erased {
				found++
				if e.Seq != seq || e.Action != "erased" || e.Actor.Kind != "unknown" || len(e.Record) != 64 || e.Kind == "" {
					t.Errorf("record %d: %+v", seq, e)
				}
			}
		}
		if want := 1; seq < 8 && found != want || seq == 8 && found != 0 {
			t.Errorf("record %d: %d erased entries in %v", seq, found, lines(list))
		}
	}
	store.erased = map[int64]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}
	if list := entries(t, s, "s", nil); len(list) != 7 || list[0].Record != whole[0].Record || list[0].Digest == whole[0].Digest {
		t.Errorf("all erased: %v", lines(list))
	}
}

func TestForkHasParentEntries(t *testing.T) {
	s, _ := newSessions(t)
	l := log(t, s, "s", calls(transcript.ToolUse{ID: "a", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}),
		decide("a", "Bash", "mode auto", policy.Allow, nil), start("a", "Bash"))
	if _, err := s.Fork(t.Context(), "s", &session.ForkOptions{ID: "f"}); err != nil {
		t.Fatal(err)
	}
	add(t, l, finish("a", "Bash"))
	list := entries(t, s, "f", nil)
	chained(t, list)
	want := []string{
		"1 session open by person ann for ann [folder /w]",
		"3 decision allow by mode auto for ann [command.execute ls]",
		"4 effect run by program for ann → unknown [command.execute ls]",
		"5 session fork by program [folder /w] [session s/4]",
	}
	if diff := cmp.Diff(want, lines(list)); diff != "" {
		t.Error(diff)
	}
}

// Records appended later continue the chain.
func TestChainContinuesAfterFork(t *testing.T) {
	s, _ := newSessions(t)
	l := log(t, s, "s", decide("a", "Bash", "mode auto", policy.Allow, nil), start("a", "Bash"), finish("a", "Bash"))
	before := entries(t, s, "s", nil)
	add(t, l, decide("b", "Bash", "mode auto", policy.Allow, nil))
	after := entries(t, s, "s", nil)
	if len(after) != len(before)+1 || !reflect.DeepEqual(after[:len(before)], before) {
		t.Errorf("%v became %v", lines(before), lines(after))
	}
}

func TestReadPicks(t *testing.T) {
	s, _ := newSessions(t)
	log(t, s, "s", decide("a", "Bash", "mode auto", policy.Allow, nil), decide("b", "Read", "nobody", policy.Deny, nil),
		draft{record.KindPolicyChanged, policy.Change{Mode: policy.ModePlan, By: "bob"}})
	all := entries(t, s, "s", nil)
	for _, c := range []struct {
		o    audit.ReadOptions
		want []int64
	}{
		{audit.ReadOptions{}, []int64{1, 2, 3, 4}},
		{audit.ReadOptions{Kinds: []string{audit.KindPolicy, audit.KindSession}}, []int64{1, 4}},
		{audit.ReadOptions{Tool: "Read"}, []int64{3}},
		{audit.ReadOptions{Actor: "person"}, []int64{1, 4}},
		{audit.ReadOptions{Actor: "bob"}, []int64{4}},
		{audit.ReadOptions{Since: all[1].Time}, []int64{2, 3, 4}},
		{audit.ReadOptions{Until: all[1].Time}, []int64{1}},
		{audit.ReadOptions{Since: all[3].Time, Kinds: []string{audit.KindDecision}}, nil},
	} {
		var got []int64
		for _, e := range entries(t, s, "s", &c.o) {
			got = append(got, e.Seq)
			if e.Digest != all[e.Seq-1].Digest {
				t.Errorf("%+v: entry %d has another digest", c.o, e.Seq)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v picks %v, want %v", c.o, got, c.want)
		}
	}
}

// Read reads what package hook records.
func TestHookEntries(t *testing.T) {
	want, got := reflect.TypeFor[record.HookRun](), reflect.TypeFor[audit.HookRun]()
	for f := range want.Fields() {
		if g, ok := got.FieldByName(f.Name); !ok || g.Tag != f.Tag || g.Type != f.Type {
			t.Errorf("%s of hook.Run is not the same here: %v", f.Name, g)
		}
	}
}
