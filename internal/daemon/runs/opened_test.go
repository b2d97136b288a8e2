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

// createUnfinished creates a session with an unfinished turn.
func (w *runsEnv) createUnfinished(id, owner string) {
	w.t.Helper()
	l, err := w.sessions.Create(w.t.Context(), session.Opened{SessionID: id, Owner: owner, CWD: w.cwd})
	w.ok(err)
	d, err := session.NewDraft(record.KindTurnOpened, record.TurnOpened{Turn: "turn-1"})
	w.ok(err)
	_, err = l.Append(w.t.Context(), d)
	w.ok(err)
	w.ok(l.Close())
}

// brief returns a one-word description of each event.
func brief(e *feed.Event) (list []string) {
	if o, ok := e.Delta.(event.SessionOpened); ok {
		list = append(list, "session_opened "+o.ID+strings.Join(o.Notices, ""))
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

// A subscriber from before the start gets an event when each agent's session is opened, in the
// right place. The records found in a session are recorded for later subscribers.
func TestOpenedEvents(t *testing.T) {
	for _, tt := range []struct {
		name, cut string
		strategy  *strategy.Strategy
		want      []string
	}{
		{"one", "run", single(), []string{"started and opened", "opened run", "step_started run", "turn.opened of run"}},
		{"several", "run.checker", parseStrategy(t, twoInSequence), []string{
			"started ", "step_started run.writer", "session.opened of run.writer", "session_opened run.writer", "turn.opened of run.writer", "step_completed ",
			"opened run.checker", "step_started run.checker", "turn.closed of run.checker", "session_opened run.checker", "turn.opened of run.checker",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := begin(t, map[string]string{"writer": "steps: [{text: a}]", "checker": "steps: [{text: b}]"})
			owner, _, _ := strings.Cut(tt.cut, ".")
			if owner == tt.cut {
				owner = ""
			}
			w.createUnfinished(tt.cut, owner)
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
			var events []string
			for !slices.Contains(events, "completed ") {
				e, err := sub.Next(t.Context())
				w.ok(err)
				events = append(events, brief(e)...)
			}
			at := 0
			for _, want := range tt.want {
				i := slices.Index(events[at:], want)
				if i < 0 {
					t.Fatalf("%q does not follow %q:\n%s", want, events[:at], strings.Join(events[at:], "\n"))
				}
				at += i + 1
			}
			w.waitEnded("run")
			v := w.watch("run", 0)
			if e := v.event(wire.RunOpened); e.Session != tt.cut || len(e.Notices) == 0 || !strings.Contains(e.Notices[0], "turn-1") {
				t.Errorf("%+v", e)
			}
			back := w.watch("run", v.all[len(v.all)-1].Seq-1)
			if e := back.event(wire.RunOpened); e.Session != tt.cut {
				t.Errorf("a later subscriber gets %+v", e)
			}
		})
	}
}

const twoInSequence = `
name: two
version: "1"
agents: {writer: {type: llm}, checker: {type: llm}}
flow: {sequence: [writer, checker]}
`

func parseStrategy(t *testing.T, text string) *strategy.Strategy {
	t.Helper()
	s, err := strategy.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The result in the end record repeats no text and contains no secret.
func TestRecordedResult(t *testing.T) {
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
		w.waitEnded("run")
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
