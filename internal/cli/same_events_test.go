package cli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/recordevents"
	"github.com/holdfast-dev/holdfast/session"
)

// waysToRun are the ways of running a run.
var waysToRun = map[string]func(*runEnv) *observed{
	"agent": (*runEnv).alone, "library": (*runEnv).embedded, "daemon": (*runEnv).daemon, "client": (*runEnv).handle, "log pipe": (*runEnv).logPipe,
}

// notShown are the types of events that no run of this test emits, and why.
var notShown = map[string]string{
	"tools_changed":      "an MCP server has to come or go",
	"model_switched":     "there is one model",
	"terminal_sequences": "hooks that send them run in parallel with the events of a turn",
	"notified":           "the user is not away",
}

// shownDifferently lists the events that one way of running emits differently from the agent itself, and why:
// a type of event, or a field of one ("type.field"). Everything else is the same.
var shownDifferently = map[string]map[string]string{
	"library": {
		"session_opened":    "it is emitted before a client can follow the run",
		"subagent/recorded": "they are in the logs of their own sessions",
	},
	"daemon": {
		"subagent/provisional": "subscribers of a daemon's run get only recorded events of sub-agents",
	},
	"client": {
		"subagent/provisional": "subscribers of a daemon's run get only recorded events of sub-agents",
	},
	"log pipe": {
		"session_opened.created": "the host has created the session",
	},
}

// The same run has the same events in every way of running, in the log and in every view.
func TestSameEvents(t *testing.T) {
	covered := map[string]bool{}
	for name, of := range sameRuns {
		t.Run(name, func(t *testing.T) {
			byWay := map[string][]event.Event{}
			var mu sync.Mutex
			t.Run("ways", func(t *testing.T) {
				for way, run := range waysToRun {
					if of.not[way] != "" {
						continue
					}
					t.Run(way, func(t *testing.T) {
						t.Parallel()
						out := run(newRunEnv(t, of))
						mu.Lock()
						byWay[way] = out.events
						mu.Unlock()
						out.check(t, of.reason)
					})
				}
			})
			for way, list := range byWay {
				not := shownDifferently[way]
				if diff := cmp.Diff(alike(t, byWay["agent"], not), alike(t, list, not)); diff != "" {
					t.Errorf("the agent -, %s +:\n%s", way, diff)
				}
			}
			for _, e := range byWay["agent"] {
				covered[e.Type()] = true
			}
		})
	}
	for _, name := range eventTypes(t) {
		if covered[name] == (notShown[name] != "") {
			t.Errorf("%s: emitted: %v; %q", name, covered[name], notShown[name])
		}
	}
}

// check compares the emitted events with the log and the views.
func (s *observed) check(t *testing.T, reason event.Reason) {
	t.Helper()
	s.checkLogs(t)
	s.checkText(t)
	s.checkStream(t)
	if s.frames != nil {
		s.checkSocket(t)
	}
	if last, ok := s.events[len(s.events)-1].(event.Result); !ok || last.Reason != reason {
		t.Errorf("it ends with %+v", s.events[len(s.events)-1])
	}
}

// lines returns the JSON of events.
func lines(t *testing.T, list []event.Event) (out []string) {
	t.Helper()
	for _, e := range list {
		b, err := event.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// checkLogs compares the emitted events with the logs. Approval requests of a sub-agent are in the log of the
// run, for its approvers.
func (s *observed) checkLogs(t *testing.T) {
	t.Helper()
	emitted, logged := map[string][]event.Event{}, map[string][]event.Event{"": fromRecords(t, s.records)}
	for id, records := range s.children {
		if s.ownLog {
			break
		}
		logged[id] = fromRecords(t, records)
	}
	const asked = "what sub-agents ask"
	logged[asked] = slices.Clone(logged[""])
	of := func(e event.Event) bool { return askedBy(e) != "" }
	logged[""] = slices.DeleteFunc(logged[""], of)
	logged[asked] = slices.DeleteFunc(logged[asked], func(e event.Event) bool { return !of(e) })
	for _, e := range s.events {
		sub, ok := e.(event.SubagentEvent)
		switch {
		case event.Provisional(e):
		case s.ownLog && of(e):
			emitted[asked] = append(emitted[asked], e)
		case ok && of(sub.Event):
			emitted[asked] = append(emitted[asked], sub.Event)
		default:
			if ok {
				e = sub.Event
			}
			emitted[sub.Session] = append(emitted[sub.Session], e)
		}
	}
	for id := range logged {
		if diff := cmp.Diff(lines(t, logged[id]), lines(t, emitted[id])); diff != "" {
			t.Errorf("the log of %q -, the emitted events +:\n%s", id, diff)
		}
		delete(emitted, id)
	}
	for id := range emitted {
		t.Errorf("the emitted events of %s are in no log", id)
	}
}

func fromRecords(t *testing.T, records []session.Record) (list []event.Event) {
	t.Helper()
	var state recordevents.Reader
	for _, r := range records {
		more, err := state.Events(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, slices.DeleteFunc(more, event.Provisional)...) // events of a daemon's own records are emitted at once
	}
	return list
}

// askedBy returns the session of the sub-agent whose approval request, in the run's log, an event is about; ""
// for any other event.
func askedBy(e event.Event) string {
	switch e := e.(type) {
	case event.ApprovalAsked:
		return e.Request.Asker
	case event.ApprovalResolved:
		return e.Answer.Asker
	}
	return ""
}

// varyingValues matches what differs from run to run: IDs, times, temporary folders, and digests of data that
// contains them.
var varyingValues = regexp.MustCompile(`\b01[0-9A-Z]{24}\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|/tmp/hf\d+/d+|\b[0-9a-f]{64}\b`)

// varyingFields are fields that differ from run to run: times, durations, positions in the log, who has answered
// and how, and the estimated tokens of a request, because tools have other descriptions in a container.
var varyingFields = []string{"tokens_before", "tokens_after", "took_ms", "took_model_ms", "delay_ms", "ms", "seq", "time", "asked_at", "at", "by", "via", "grant"}

// withoutVarying removes those fields of an event's JSON. Hints for errors are added where the error leaves a
// program, so only the messages are equal.
func withoutVarying(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range varyingFields {
			delete(v, name)
		}
		if e, ok := v["error"].(map[string]any); ok {
			delete(e, "hint")
			delete(e, "code")
		}
		for name, of := range v {
			v[name] = withoutVarying(of)
		}
	case []any:
		for i, of := range v {
			v[i] = withoutVarying(of)
		}
	}
	return v
}

// alike returns events without what differs from run to run. Events of a sub-agent are moved to the end,
// followed by its approval requests: their time depends on the speed of both, and requests are in the log of
// the run, where they may precede their cause. Deltas are joined, because their boundaries do not matter.
func alike(t *testing.T, list []event.Event, not map[string]string) []string {
	t.Helper()
	var main, subs, asked []string
	for _, e := range joinDeltas(list) {
		_, sub := e.(event.SubagentEvent)
		in := "subagent/recorded"
		if event.Provisional(e) {
			in = "subagent/provisional"
		}
		question := askedBy(inmost(e)) != ""
		if not[e.Type()] != "" || sub && !question && not[in] != "" {
			continue
		}
		if question { // as in the log of the run
			e = inmost(e)
		}
		line := comparableJSON(t, e, not)
		if question {
			asked = append(asked, line)
		} else if sub {
			subs = append(subs, line)
		} else {
			main = append(main, line)
		}
	}
	return slices.Concat(main, subs, asked)
}

// comparableJSON returns an event's JSON without some fields, and without what differs.
func comparableJSON(t *testing.T, e event.Event, not map[string]string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(lines(t, []event.Event{e})[0]), &m); err != nil {
		t.Fatal(err)
	}
	for field := range not {
		if name, ok := strings.CutPrefix(field, e.Type()+"."); ok {
			delete(m, name)
		}
	}
	return varyingValues.ReplaceAllString(js(withoutVarying(m)), "~")
}

// joinDeltas joins consecutive deltas of one kind.
func joinDeltas(list []event.Event) (out []event.Event) {
	for _, e := range list {
		kind, text := textOf(e)
		if kind == "" {
			out = append(out, e)
			continue
		}
		if text == "" {
			continue
		}
		if len(out) > 0 {
			if before, begun := textOf(out[len(out)-1]); before == kind && useOf(e) == useOf(out[len(out)-1]) {
				out[len(out)-1] = withPrefix(e, begun)
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

func useOf(e event.Event) string {
	switch e := e.(type) {
	case event.ToolInputDelta:
		return e.Use
	case event.ToolOutputDelta:
		return e.Use
	}
	return ""
}

// withPrefix returns a delta with a prefix.
func withPrefix(e event.Event, begun string) event.Event {
	switch e := e.(type) {
	case event.TextDelta:
		e.Text = begun + e.Text
		return e
	case event.ThinkingDelta:
		e.Text = begun + e.Text
		return e
	case event.ToolInputDelta:
		e.JSON = begun + e.JSON
		return e
	case event.ToolOutputDelta:
		e.Text = begun + e.Text
		return e
	}
	return e
}
