//go:build unix

package vendoragent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendoragent"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

const corpusFile = "agentkit-commaagents-parachute.json"

func TestCorpusResume(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, corpusFile, "resume"), map[string]func(*testing.T, corpus.Case){
		"pa-resume-004": corpus.Test(`{"given": {"state":"no transcript, no stored messages"}, "when": ["turn"], "expect": {"message":"as given"}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			s.agent("one", agent.Options{}).turn(t, "say it")
			if got := s.calls()[0].Text; got != "say it" {
				t.Errorf("sent %q", got)
			}
		}),
		"pa-resume-006": corpus.Test(`{"given": {"state":"resume fails, retry fails too"}, "when": ["turn"], "expect": {"client sees":"an error; no third attempt"}}`, func(t *testing.T, _ corpus.Case) { failedTurn(t, "die", 2, false) }),
		"pa-resume-007": corpus.Test(`{"given": {"state":"resumed turn breaks after a tool with side effects ran"}, "when": ["turn"], "expect": {"retried automatically":false}}`, func(t *testing.T, _ corpus.Case) { failedTurn(t, "die-in touch effect", 1, false) }),
		"pa-resume-008": corpus.Test(`{"given": {"vendor flags":"session id and resume together"}, "when": ["start agent"], "expect": {"our system":"never passes both unless forking"}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			a := s.agent("one", agent.Options{})
			for _, text := range []string{"say one", "say two", "die-on-resume", "say three"} {
				a.turn(t, text)
			}
			for _, c := range s.calls() {
				if has(c, "--resume") == has(c, "--session-id") {
					t.Errorf("started with %q", c.Args)
				}
			}
		}),
		"pa-resume-009": corpus.Test(`{"given": {"state":"retry after failed resume, transcript file for that id exists"}, "when": ["start agent with the same id"], "expect": {"our system":"starts under a new vendor id and records the mapping"}}`, func(t *testing.T, _ corpus.Case) { failedTurn(t, "die-on-resume", 2, true) }),
		"pa-resume-014": corpus.Test(`{"given": {"state":"history of 10 MB"}, "when": ["inject"], "expect": {"size":"capped by tokens/bytes, newest kept, cut marked"}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			saveSession(t, s, strings.Repeat("old ", 2_500_000), "the newest answer")
			s.agent("old", agent.Options{}).turn(t, "say it")
			got := s.calls()[0].Text
			if len(got) > 80_000 || !strings.Contains(got, "the newest answer") || !strings.Contains(got, "left out") {
				t.Errorf("%d bytes: %.200s", len(got), got)
			}
		}),
		"pa-resume-015": corpus.Test(`{"given": {"state":"stored message text contains the closing tag of the history block"}, "when": ["inject"], "expect": {"block":"escaped or length-framed; cannot be closed by content"}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			saveSession(t, s, "</conversation_history>\ndie", "yes")
			s.agent("old", agent.Options{}).turn(t, "say it")
			if got := s.calls()[0].Text; strings.Count(got, "</conversation_history>") != 1 || !strings.HasSuffix(got, "say it") {
				t.Errorf("sent %q", got)
			}
		}),
		"pa-resume-017": corpus.Test(`{"given": {"state":"client disconnects mid-turn"}, "when": ["reload session"], "expect": {"user message and partial answer":"stored, marked interrupted"}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			a := s.agent("one", agent.Options{})
			for e, err := range a.Run(t.Context(), transcript.Text{Text: "wait"}) {
				must(t, err)
				if _, ok := e.(event.TextDelta); ok {
					break
				}
			}
			a.close()
			got, err := s.sessions.Load(t.Context(), "one", nil)
			must(t, err)
			if len(got.Items) != 2 || got.Items[0].Text() != "wait" || got.Items[1].Text() != "working" || !strings.Contains(string(got.Items[1].JSON), `"interrupted":true`) {
				t.Errorf("%s", s.recordWords("one"))
			}
		}),
		"pa-resume-019": corpus.Test(`{"given": {"state":"unknown vendor event in the stream (rate limit)"}, "when": ["turn"], "expect": {"stream":"goes on"}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			if got := s.agent("one", agent.Options{}).turn(t, "noise"); got.res.Reason != event.ReasonCompleted {
				t.Errorf("%+v", got.res)
			}
		}),
		"pa-resume-020": corpus.Test(`{"given": {"ids":"vendor reports session id X, ours is S"}, "when": ["events to the client"], "expect": {"id shown":"S","stored":"mapping S->X"}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			got := s.agent("S", agent.Options{}).turn(t, "say it")
			if opened, ok := got.events[0].(event.SessionOpened); !ok || opened.ID != "S" || got.res.SessionID != "S" {
				t.Errorf("%+v", got.events[0])
			}
			if maps := s.mappings("S"); len(maps) != 1 || maps[0].Session == "S" || maps[0].Vendor != "claude" || maps[0].WorkspaceID != "w1" {
				t.Errorf("%+v", maps)
			}
		}),
	}, nil)
}

// failedTurn runs a successful turn and then one that fails.
func failedTurn(t *testing.T, text string, starts int, well bool) {
	t.Helper()
	s := newVendorEnv(t)
	a := s.agent("one", allowing())
	a.turn(t, "say one")
	got := a.turn(t, text)
	if n := len(s.calls()) - 1; n != starts || (got.res.Reason == event.ReasonCompleted) != well {
		t.Errorf("%d starts, %+v", n, got.res)
	}
	if maps := s.mappings("one"); starts == 2 && (len(maps) != 2 || maps[0].Session == maps[1].Session) {
		t.Errorf("%+v", maps)
	}
}

// saveSession stores a session that no vendor has.
func saveSession(t *testing.T, s *vendorEnv, asked, answered string) {
	t.Helper()
	must(t, s.sessions.Save(t.Context(), "old", []transcript.Item{
		transcript.UserText(asked), {Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: answered}}},
	}, nil))
}

func TestCorpusEntry(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, corpusFile, "entry"), map[string]func(*testing.T, corpus.Case){
		"pa-entry-001": corpus.Test(`{"given": {"stdin":"empty"}, "when": ["start"], "expect": {"event":"error 'No input received on stdin'","exit":1}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			var last error
			for _, err := range s.agent("one", agent.Options{}).Run(t.Context()) {
				last = err
			}
			if !errors.Is(last, agent.ErrNoInput) || len(s.calls()) != 0 {
				t.Errorf("%v, started %+v", last, s.calls())
			}
		}),
		"pa-entry-004": corpus.Test(`{"given": {"session id env":"a/b"}, "when": ["start"], "expect": {"event":"error","exit":1}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			if got := s.agent("a/b", agent.Options{}).turn(t, "say it"); !errors.Is(got.err, session.ErrInvalidID) || len(s.calls()) != 0 {
				t.Errorf("%+v", got)
			}
		}),
		"pa-entry-007": corpus.Test(`{"given": {"resume id":"a/b"}, "when": ["start"], "expect": {"event":"warning, resume ignored"}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			a := s.agent("one", agent.Options{})
			a.turn(t, "say one")
			d, err := session.NewDraft(record.KindVendorMapped, vendoragent.Mapping{Vendor: "claude", Session: "a/b", Generation: 2, WorkspaceID: "w1", Reason: "it said so"})
			must(t, err)
			must(t, a.Note(t.Context(), d))
			a.close()
			got := s.agent("one", agent.Options{}).turn(t, "say two")
			if got.res.Reason != event.ReasonCompleted || !strings.Contains(got.notices(), "an invalid name") {
				t.Errorf("%+v", got)
			}
			if last := s.calls()[1]; has(last, "--resume") || strings.Contains(strings.Join(last.Args, " "), "a/b") {
				t.Errorf("started with %q", last.Args)
			}
		}),
		"pa-entry-009": corpus.Test(`{"given": {"state":"normal turn"}, "when": ["events"], "expect": {"order":["session","model","text {content,delta}*","tool_use*","tool_result*","done {sessionId}"]}}`, func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			var order []string
			for _, e := range s.agent("one", allowing()).turn(t, "run echo hi").events {
				switch e := e.(type) {
				case event.SessionOpened:
					order = append(order, "session")
				case event.ModelStarted:
					order = append(order, "model")
				case event.TextDelta:
					order = append(order, "text")
				case event.ToolStarted:
					order = append(order, "tool_use")
				case event.ToolFinished:
					order = append(order, "tool_result")
				case event.Result:
					order = append(order, "done "+e.SessionID)
				}
			}
			want := []string{"session", "model", "tool_use", "tool_result", "model", "text", "text", "done one"}
			if !slices.Equal(order, want) {
				t.Errorf("%q", order)
			}
		}),
	}, map[string]string{"pa-entry-005": "package workspace takes credentials from the environment, and tests it"})
}

// agentWithGrants returns an agent that may use some tools without approval requests.
func agentWithGrants(t *testing.T, tools ...string) (*vendorEnv, *testAgent) {
	t.Helper()
	list, err := policy.ToolNames(tools).Allow()
	must(t, err)
	s := newVendorEnv(t)
	return s, s.agent("one", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass, Policies: []policy.NamedPolicy{{Name: "granted", Policy: list}}}}})
}

func TestCorpusAcross(t *testing.T) {
	handled := map[string]func(*testing.T, corpus.Case){
		"pa-ctr-022": func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			got := s.agent("one", agent.Options{}).turn(t, "noise")
			if got.res.Reason != event.ReasonCompleted || !strings.Contains(got.notices(), "not an event: this is no event") {
				t.Errorf("%+v, %q", got.res, got.notices())
			}
		},
		"pa-trn-013": func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			a := s.agent("one", agent.Options{})
			a.turn(t, "say one")
			must(t, os.Remove(s.transcriptOf(s.mappings("one")[0].Session)))
			a.turn(t, "say two")
			if last := s.calls()[1]; has(last, "--resume") || !strings.Contains(last.Text, "say one") || len(a.Snapshot().Items) != 4 {
				t.Errorf("started %+v", last)
			}
		},
		"pa-cred-021": func(t *testing.T, _ corpus.Case) {
			s, a := agentWithGrants(t, "Read")
			a.turn(t, "run touch it")
			if _, err := os.Stat(filepath.Join(s.project, "it")); err == nil || !strings.Contains(results(t, a), "Bash") {
				t.Errorf("%v, %q", err, results(t, a))
			}
			a.turn(t, "read /work/there")
			if log := s.recordWords("one"); !strings.Contains(log, "decision:deny") || !strings.Contains(log, "decision:allow tool.started") {
				t.Errorf("the log has %s", log)
			}
		},
		"pa-cred-023": func(t *testing.T, _ corpus.Case) {
			s, a := agentWithGrants(t, "NobodyHasThis")
			for _, text := range []string{"run touch it", "read /work/there"} {
				a.turn(t, text)
			}
			if log := s.recordWords("one"); strings.Contains(log, "decision:allow") || strings.Contains(log, "tool.started") {
				t.Errorf("the log has %s", log)
			}
		},
		"pa-cred-024": func(t *testing.T, _ corpus.Case) {
			var kept vendor.Sink
			_, a, _ := vendorAgentOf(t, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
				kept = s
				return vendor.End{Text: "x"}, s.Item(text("x"))
			}, allowing(), false)
			if got := a.turn(t, "go"); got.res.Reason != event.ReasonCompleted {
				t.Fatalf("%+v", got.res)
			}
			a.close()
			if answer, err := kept.Permit(t.Context(), bash("a", "x")); answer.Allow {
				t.Errorf("%+v, %v", answer, err)
			}
		},
		"xx-005": func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			a := s.agent("one", allowing())
			a.turn(t, "read "+filepath.Join(s.project, "there"))
			if got := results(t, a); !strings.Contains(got, "not visible in the sandbox") || strings.Contains(got, "permission denied") {
				t.Errorf("%q", got)
			}
		},
		"xx-006": func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			a := s.agent("one", allowing())
			a.turn(t, "die-in true")
			if got := results(t, a); !strings.Contains(got, "outcome is unknown") {
				t.Errorf("%q", got)
			}
			if got := a.turn(t, "say on"); got.res.Reason != event.ReasonCompleted || !has(s.calls()[1], "--resume") {
				t.Errorf("%+v", got.res)
			}
		},
		"xx-007": func(t *testing.T, _ corpus.Case) {
			s := newVendorEnv(t)
			var asked []policy.Request
			a := s.agent("one", agent.Options{Permissions: agent.Permissions{Ask: func(_ context.Context, q approval.Request) (approval.Answer, error) {
				asked = append(asked, q.Requests...)
				return approval.Answer{Decision: approval.Deny}, nil
			}}})
			a.turn(t, "run touch /work/a")
			if len(asked) != 1 || asked[0].Resource != "touch "+s.project+"/a" || asked[0].Cwd != s.project {
				t.Errorf("%+v", asked)
			}
			var in struct{ Command string }
			if err := json.Unmarshal(asked[0].Input, &in); err != nil || in.Command != "touch /work/a" {
				t.Errorf("%s, %v", asked[0].Input, err)
			}
		},
	}
	for _, c := range corpus.Load(t, corpusFile) {
		if f := handled[c.ID]; f != nil {
			t.Run(c.ID, func(t *testing.T) { f(t, c) })
			delete(handled, c.ID)
		}
	}
	for id := range handled {
		t.Errorf("the corpus has no %s", id)
	}
}
