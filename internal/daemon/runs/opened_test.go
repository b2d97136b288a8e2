package runs_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

// cutOff leaves a session with a turn that nobody has closed.
func (w *runsEnv) cutOff(id, owner string) {
	w.t.Helper()
	l, err := w.sessions.Create(w.t.Context(), session.Opened{SessionID: id, Owner: owner, CWD: w.cwd})
	w.ok(err)
	d, err := session.NewDraft(record.KindTurnOpened, record.TurnOpened{Turn: "turn-1"})
	w.ok(err)
	_, err = l.Append(w.t.Context(), d)
	w.ok(err)
	w.ok(l.Close())
}

// brief says in a word each what a feed tells.
func brief(e *feed.Event) (list []string) {
	if o, ok := e.Delta.(event.SessionOpened); ok {
		list = append(list, "told "+o.ID+strings.Join(o.Notices, ""))
	}
	for _, r := range e.Records {
		what := string(r.Kind) + " of " + r.Session
		var of wire.RunEvent
		if r.Kind == record.KindRunEvent && json.Unmarshal(r.Payload, &of) == nil {
			what = of.Event + " " + of.Session
			if of.Opened != nil {
				what += "and opened"
			}
		}
		list = append(list, what)
	}
	return list
}

// Who follows a run from before its start is told of each agent's session when it is
// opened, in its place; and what was found there is on record, for who comes later.
func TestOpeningIsTold(t *testing.T) {
	for _, tt := range []struct {
		name, cut string
		strategy  *strategy.Strategy
		want      []string
	}{
		{"one", "run", single(), []string{"started and opened", "opened run", "step_started run", "turn.opened of run"}},
		{"several", "run.checker", strategies(t, twoAfterAnother), []string{
			"started ", "step_started run.writer", "session.opened of run.writer", "told run.writer", "turn.opened of run.writer", "step_completed ",
			"opened run.checker", "step_started run.checker", "turn.closed of run.checker", "told run.checker", "turn.opened of run.checker",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := begin(t, map[string]string{"writer": "steps: [{text: a}]", "checker": "steps: [{text: b}]"})
			owner, _, _ := strings.Cut(tt.cut, ".")
			if owner == tt.cut {
				owner = ""
			}
			w.cutOff(tt.cut, owner)
			_, err := w.runs.Prepare(t.Context(), runs.PrepareOptions{Run: "run", Strategy: tt.strategy, Actor: ann, Spec: runspec.Spec{Cwd: w.cwd}})
			w.ok(err)
			sub, err := w.hub.Await(t.Context(), "run")
			w.ok(err)
			defer sub.Close()
			start := w.runs.Start
			if owner == "" {
				start = w.runs.Continue
			}
			w.ok(start(t.Context(), "run", "go", "", ann))
			var told []string
			for !slices.Contains(told, "completed ") {
				e, err := sub.Next(t.Context())
				w.ok(err)
				told = append(told, brief(e)...)
			}
			at := 0
			for _, want := range tt.want {
				i := slices.Index(told[at:], want)
				if i < 0 {
					t.Fatalf("%q is not told behind %q:\n%s", want, told[:at], strings.Join(told[at:], "\n"))
				}
				at += i + 1
			}
			w.ended("run")
			v := w.watch("run", 0)
			if e := v.event(wire.RunOpened); e.Session != tt.cut || len(e.Notices) == 0 || !strings.Contains(e.Notices[0], "turn-1") {
				t.Errorf("%+v", e)
			}
			back := w.watch("run", v.all[len(v.all)-1].Seq-1)
			if e := back.event(wire.RunOpened); e.Session != tt.cut {
				t.Errorf("who comes back is told %+v", e)
			}
		})
	}
}

const twoAfterAnother = `
name: two
version: "1"
agents: {writer: {type: llm}, checker: {type: llm}}
flow: {sequence: [writer, checker]}
`

func strategies(t *testing.T, text string) *strategy.Strategy {
	t.Helper()
	s, err := strategy.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The result on the record of the end repeats no text, and holds no secret.
func TestResultOnRecord(t *testing.T) {
	const key = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
	w := begin(t, map[string]string{"writer": "steps: [{text: half}, {error: {kind: invalid, message: the key " + key + " is wrong}}]"})
	var err error
	w.mask, err = secret.New(nil)
	w.ok(err)
	for _, tt := range []struct{ input, want string }{{"go", `"reason":"completed"`}, {"again", `"reason":"failed"`}} {
		start := w.runs.Continue
		if tt.input == "go" {
			_, err := w.runs.Prepare(t.Context(), runs.PrepareOptions{Run: "run", Strategy: single(), Actor: ann, Spec: runspec.Spec{Cwd: w.cwd}})
			w.ok(err)
			start = w.runs.Start
		}
		w.ok(start(t.Context(), "run", tt.input, "", ann))
		w.ended("run")
		var last string
		for r, err := range w.sessions.Records(t.Context(), "run", session.Range{}) {
			w.ok(err)
			if r.Kind == record.KindRunEvent {
				last = string(r.Payload)
			}
		}
		if !strings.Contains(last, `"result":{`) || !strings.Contains(last, tt.want) || strings.Contains(last, key) || strings.Count(last, "half") > 1 {
			t.Errorf("%s: %s", tt.input, last)
		}
	}
}
