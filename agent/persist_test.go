package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func sessions(t testing.TB) *session.Sessions {
	t.Helper()
	return session.New(memory.New(), nil)
}

// killed releases a session like the end of its process. The goroutines of the test that still hang
// stand for the killed process.
func killed(t testing.TB, s *session.Sessions, id string) {
	t.Helper()
	held, err := s.Lease(t.Context(), id)
	if err == nil && held != nil {
		l, _ := session.As[session.Leaser](s.Store())
		err = l.Release(t.Context(), id, *held)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestRecordsBeforeEffects(t *testing.T) {
	s := sessions(t)
	var a *agent.Agent
	look := probe{name: "Look", run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		ks := kinds(t, s, a.SessionID())
		if !slices.Contains(ks, record.KindToolStarted) || !slices.Contains(ks, record.KindDecision) {
			t.Errorf("the tool runs and the log holds only %v", ks)
		}
		return tool.Text("seen"), nil
	}}
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Look", `{}`)}}, step{text: "done"})
	a = newAgent(t, m, agent.Options{Sessions: s, Tools: registry(t, look), Session: session.RestoreOptions{SessionID: "one"}})
	prompt(t, a, "hi")
	want := []session.Kind{
		"session.opened", "turn.opened", "item", "item", "decision", "tool.started",
		"tool.finished", "item", "item", "turn.closed",
	}
	if d := cmp.Diff(want, kinds(t, s, "one")); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); !errors.Is(err, agent.ErrClosed) || !strings.Contains(err.Error(), "already closed") {
		t.Errorf("second close: %v", err)
	}
	if _, err := a.Prompt(t.Context(), "x"); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("prompt after close: %v", err)
	}
}

func TestResumeRepeatsTheSameBytes(t *testing.T) {
	s := sessions(t)
	o := agent.Options{Sessions: s, System: "be brief", Session: session.RestoreOptions{SessionID: "one"}}
	first := play(t, step{text: "hello"})
	a := newAgent(t, first, o)
	prompt(t, a, "hi")
	a.Close()

	second := play(t, step{text: "again"})
	b := newAgent(t, second, o)
	all := events(t, b, "more")
	for _, e := range all {
		if n, ok := e.(event.Notice); ok {
			t.Errorf("notice: %s", n.Text)
		}
	}
	before, after := first.asked[0], second.asked[0]
	for i, w := range before.Messages {
		if string(w.JSON) != string(after.Messages[i].JSON) {
			t.Errorf("message %d changed:\n%s\n%s", i, w.JSON, after.Messages[i].JSON)
		}
	}
	b.Close()

	o.System = "be long"
	c := newAgent(t, play(t, step{text: "x"}), o)
	reported := false
	for _, e := range events(t, c, "more") {
		n, ok := e.(event.Notice)
		reported = reported || ok && strings.Contains(n.Text, "system prompt")
	}
	if !reported {
		t.Error("a changed system prompt was not noticed")
	}
}

func TestResumeAfterCrash(t *testing.T) {
	for _, c := range []struct {
		name string
		mode policy.Mode
		want string
		turn string
	}{
		{"while the tool ran", policy.ModeBypass, "outcome unknown", "turn-2"},
		{"while an approval waited", policy.ModeDefault, "no one can answer", "turn-1"}, // the turn continues
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sessions(t)
			crash := errors.New("crash")
			o := agent.Options{Sessions: s, Permissions: agent.Permissions{Config: policy.Config{Mode: c.mode}}, Session: session.RestoreOptions{SessionID: "one"}}
			runs := 0
			o.Tools = registry(t, probe{name: "Pay", run: func(context.Context, *tool.Call) (tool.Result, error) {
				runs++
				panic(crash)
			}})
			// The crash: the loop's goroutine never continues.
			a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "Pay", `{}`)}}), o)
			abandon(t, a, "pay")
			killed(t, s, "one")
			m := play(t, step{text: "I will check"})
			o.Session.Takeover = true
			b := newAgent(t, m, o)
			res := prompt(t, b, "go on")
			if res.Reason != event.ReasonCompleted {
				t.Fatalf("%s: %v", res.Reason, res.Err)
			}
			if runs > 1 {
				t.Errorf("the tool ran %d times", runs)
			}
			items := b.Snapshot().Items
			it, _ := items[2].Decode()
			if got := it.Parts[0].(transcript.ToolResult).Text(); !strings.Contains(got, c.want) {
				t.Errorf("the model read %q, want %q", got, c.want)
			}
			if res.Turn != c.turn {
				t.Errorf("it is turn %s, want %s", res.Turn, c.turn)
			}
		})
	}
}

// abandon runs a until a tool has started or an approval is requested, and then stops it like kill -9:
// nothing after that reaches the log.
func abandon(t *testing.T, a *agent.Agent, text string) {
	t.Helper()
	d := a.Driver(nil)
	if err := d.Submit(t.Context(), transcript.Text{Text: text}); err != nil {
		t.Fatal(err)
	}
	frozen := make(chan struct{})
	stop := &freeze{reached: frozen}
	go func() {
		defer func() { _ = recover() }()
		for range 10 {
			step, err := a.Driver(stop.see).Next(context.Background())
			if err != nil || step.Result != nil {
				return
			}
			if len(step.Approvals) > 0 {
				stop.once()
				select {}
			}
		}
	}()
	<-frozen
}

type freeze struct{ reached chan struct{} }

func (f *freeze) once() { close(f.reached) }

func (f *freeze) see(e event.Event) {
	if _, ok := e.(event.ToolStarted); ok {
		f.once()
		select {}
	}
}

func TestContinueForkAndCut(t *testing.T) {
	s := sessions(t)
	run := func(text, reply string, ro session.RestoreOptions) (*agent.Agent, *fake) {
		m := play(t, step{text: reply}, step{text: reply + " again"})
		a := newAgent(t, m, agent.Options{Sessions: s, Session: ro})
		prompt(t, a, text)
		return a, m
	}
	a, _ := run("old question", "old answer", session.RestoreOptions{SessionID: "A"})
	a.Close()
	items := a.Snapshot().Items

	b, m := run("more", "new answer", session.RestoreOptions{ContinueRecent: true})
	if b.SessionID() != "A" || len(m.asked[0].Messages) != 3 {
		t.Errorf("continued %s with %d messages", b.SessionID(), len(m.asked[0].Messages))
	}
	b.Close()

	f, m := run("other way", "forked", session.RestoreOptions{SessionID: "A", Fork: true, ItemID: items[0].ID()})
	if f.SessionID() == "A" {
		t.Fatal("the fork has the source's id")
	}
	if n := len(m.asked[0].Messages); n != 2 {
		t.Errorf("the cut fork sent %d messages, want 2", n)
	}
	prompt(t, f, "second")
	if n := len(m.asked[1].Messages); n != 4 {
		t.Errorf("the second prompt in the fork sent %d messages, want 4: it sees the first", n)
	}
	f.Close()
	if got, err := s.Load(t.Context(), "A", nil); err != nil || len(got.Items) != 4 {
		t.Errorf("the source has %d items (%v)", len(got.Items), err)
	}
	_, err := newAgent(t, play(t), agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "A", ItemID: "nope"}}).Start(t.Context())
	if !errors.Is(err, session.ErrInvalid) || session.Hint(err) == "" {
		t.Errorf("unknown --at: %v (hint %q)", err, session.Hint(err))
	}
}

func TestNoPersistWritesNothing(t *testing.T) {
	s := sessions(t)
	if err := s.Save(t.Context(), "one", []transcript.Item{transcript.UserText("u"), {Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "a"}}}}, nil); err != nil {
		t.Fatal(err)
	}
	m := play(t, step{text: "x"})
	a := newAgent(t, m, agent.Options{Sessions: s, NoPersist: true, Session: session.RestoreOptions{SessionID: "one"}})
	prompt(t, a, "more")
	if n := len(m.asked[0].Messages); n != 3 {
		t.Errorf("%d messages", n)
	}
	if got, err := s.Load(t.Context(), "one", nil); err != nil || len(got.Items) != 2 {
		t.Errorf("stored %d items (%v)", len(got.Items), err)
	}
}

func TestCloseMarker(t *testing.T) {
	s := sessions(t)
	o := agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}}
	if err := newAgent(t, play(t), o).Close(); err != nil {
		t.Fatal(err)
	}
	m, err := s.Get(t.Context(), "one")
	if err != nil || m.MessageCount != 0 {
		t.Fatalf("marker: %+v %v", m, err)
	}
	a := newAgent(t, play(t, step{text: "x"}), o)
	prompt(t, a, "hi")
	a.Close()
	if err := newAgent(t, play(t), o).Close(); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.Get(t.Context(), "one"); m.MessageCount != 2 {
		t.Errorf("close changed the history: %d messages", m.MessageCount)
	}
}

func TestEveryEndOfRunSaved(t *testing.T) {
	invalid := &model.Error{Kind: model.ErrorInvalid, Provider: "fake", Message: "no"}
	for _, c := range []struct {
		name string
		step step
		o    agent.Options
		want event.Reason
	}{
		{"error", step{err: invalid}, agent.Options{}, event.ReasonFailed},
		{"budget", step{uses: []transcript.ToolUse{use("a", "T", "{}")}, usage: &transcript.Usage{Output: 1e6}}, agent.Options{Limits: agent.Limits{MaxBudgetUSD: 1}}, event.ReasonBudget},
		{"turns", step{uses: []transcript.ToolUse{use("a", "T", "{}")}}, agent.Options{Limits: agent.Limits{MaxTurns: 1}}, event.ReasonMaxTurns},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sessions(t)
			c.o.Sessions, c.o.Session, c.o.Tools = s, session.RestoreOptions{SessionID: "one"}, registry(t, hasContent("T", "x"))
			m := play(t, c.step)
			m.info.Price = &model.Price{Output: 2}
			a := newAgent(t, m, c.o)
			if res := prompt(t, a, "hi"); res.Reason != c.want {
				t.Fatalf("%s: %v", res.Reason, res.Err)
			}
			a.Close()
			got, err := s.Load(t.Context(), "one", nil)
			if err != nil || len(got.Items) == 0 || transcript.Validate(got.Items) != nil {
				t.Errorf("stored %d items, %v", len(got.Items), err)
			}
		})
	}
}

func TestFailedCallRetriedWithoutInput(t *testing.T) {
	s := sessions(t)
	m := play(t, step{err: &model.Error{Kind: model.ErrorAuth, Provider: "fake"}}, step{text: "now"})
	a := newAgent(t, m, agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}})
	if res := prompt(t, a, "x"); res.Reason != event.ReasonFailed || res.Err == nil {
		t.Fatalf("%+v", res)
	}
	for _, err := range a.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := roles(a.Snapshot().Items)
	if d := cmp.Diff([]transcript.Role{"user", "assistant"}, got); d != "" {
		t.Error(d)
	}
	for _, err := range a.Run(t.Context()) {
		if !errors.Is(err, agent.ErrNoInput) {
			t.Errorf("run with nothing to do: %v", err)
		}
	}
}

func TestQueuedInputSurvivesProcess(t *testing.T) {
	s := sessions(t)
	o := agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}}
	a := newAgent(t, play(t), o)
	if _, err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Submit(t.Context(), transcript.Text{Text: "remember me"}); err != nil {
		t.Fatal(err)
	}
	a.Close()
	m := play(t, step{text: "yes"})
	b := newAgent(t, m, o)
	for _, err := range b.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := b.Snapshot().Items[0].Text(); got != "remember me" {
		t.Errorf("the queued input came back as %q", got)
	}
}

func TestModeRestored(t *testing.T) {
	s := sessions(t)
	o := agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}}
	for _, c := range []struct{ set, back policy.Mode }{
		{policy.ModeAcceptEdits, policy.ModeAcceptEdits},
		{policy.ModeBypass, policy.ModeDefault},
	} {
		a, err := agent.New(play(t), &o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.SetMode(t.Context(), c.set, "test"); err != nil {
			t.Fatal(err)
		}
		a.Close()
		b, _ := agent.New(play(t), &o)
		if _, err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if b.Mode() != c.back {
			t.Errorf("after %s the next process is in mode %s, want %s", c.set, b.Mode(), c.back)
		}
		b.Close()
		asked := o
		asked.Permissions.Config.Mode = policy.ModeDefault // an explicit default mode applies
		d, _ := agent.New(play(t), &asked)
		if _, err := d.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d.Mode() != policy.ModeDefault {
			t.Errorf("after %s mode default was asked for, and it is %s", c.set, d.Mode())
		}
		d.Close()
	}
}

type recorder struct {
	seen []transcript.Encoded
	fail bool
}

func (r *recorder) ItemAppended(_ string, e transcript.Encoded) error {
	if r.fail {
		return errors.New("disk full")
	}
	r.seen = append(r.seen, e)
	return nil
}

func TestTranscriptObserver(t *testing.T) {
	r := &recorder{}
	m := play(t, step{uses: []transcript.ToolUse{use("call-1", "T", "{}")}}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{
		Tools: registry(t, hasContent("T", "x")), TranscriptObservers: []agent.TranscriptObserver{r},
		Transcript: []transcript.Item{transcript.UserText("before"), {Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "b"}}}},
	})
	prompt(t, a, "hi")
	if d := cmp.Diff([]transcript.Role{"user", "assistant", "tool", "assistant"}, roles(r.seen)); d != "" {
		t.Error(d)
	}
	items := a.Snapshot().Items
	for i, e := range r.seen {
		if string(e.JSON) != string(items[i+2].JSON) {
			t.Errorf("item %d differs between observer and transcript", i)
		}
		if it, _ := e.Decode(); it.Time.IsZero() || it.Time.After(time.Now()) {
			t.Errorf("item %d has time %v", i, it.Time)
		}
	}
	r.fail = true
	if _, err := a.Prompt(t.Context(), "again"); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("an observer's error did not stop the loop: %v", err)
	}
	if _, err := a.Prompt(t.Context(), "again"); err == nil {
		t.Error("the loop went on after an observer's error")
	}
}

func TestSnapshotSharesNothing(t *testing.T) {
	a := newAgent(t, play(t, step{text: "x"}), agent.Options{Transcript: []transcript.Item{transcript.UserText("u")}})
	s := a.Snapshot()
	if len(s.Items) != 1 {
		t.Fatalf("%d items before the start", len(s.Items))
	}
	prompt(t, a, "hi")
	if len(s.Items) != 1 || len(a.Snapshot().Items) != 3 {
		t.Error("a snapshot changed")
	}
	raw, err := json.Marshal(s.Items[0].Text())
	if err != nil || string(raw) != `"u"` {
		t.Errorf("%s %v", raw, err)
	}
}
