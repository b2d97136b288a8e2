package agent_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// countIDs counts the values of a field in the payloads of a kind in a log.
func countIDs(t *testing.T, s *session.Sessions, id string, k session.Kind, field string) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for _, p := range payloads(t, s, id, k) {
		var doc map[string]json.RawMessage
		if err := json.Unmarshal([]byte(p), &doc); err != nil {
			t.Fatal(err)
		}
		seen[string(doc[field])]++
	}
	return seen
}

// The call ids of a model that counts from zero are renamed, even if a compaction, a cut or a restart has
// removed the earlier ones from the transcript.
func TestIDsUniqueInLog(t *testing.T) {
	turn := func() []step {
		return []step{{uses: []transcript.ToolUse{use("call_0", "Edit", `{}`)}}, {text: "done"}}
	}
	const turns = 4
	steps := func(n int) (list []step) {
		for range n {
			list = append(list, turn()...)
		}
		return list
	}
	compact := agent.Compact{Items: 3, Steps: []agent.Mutator{agent.CompactionStep{Step: "keepRecent", Items: 1}}}
	for _, c := range []struct {
		name string
		run  func(t *testing.T, open func(m *fake, ro session.RestoreOptions) *agent.Agent)
	}{
		{"in one process", func(t *testing.T, open func(*fake, session.RestoreOptions) *agent.Agent) {
			a := open(play(t, steps(turns)...), session.RestoreOptions{SessionID: "s"})
			for range turns {
				prompt(t, a, "go")
			}
		}},
		{"over restarts", func(t *testing.T, open func(*fake, session.RestoreOptions) *agent.Agent) {
			for range turns {
				a := open(play(t, steps(1)...), session.RestoreOptions{SessionID: "s"})
				prompt(t, a, "go")
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"after a cut", func(t *testing.T, open func(*fake, session.RestoreOptions) *agent.Agent) {
			first := ""
			for range turns {
				a := open(play(t, steps(1)...), session.RestoreOptions{SessionID: "s", ItemID: first})
				prompt(t, a, "go")
				items := a.Snapshot().Items
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
				if first == "" {
					first = items[0].ID()
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			var e echo
			ids := 0
			c.run(t, func(m *fake, ro session.RestoreOptions) *agent.Agent {
				if ro.ItemID == "" {
					ids = 0 // like a new process whose ids start again
				}
				o := agent.Options{
					Sessions: s, Session: ro, Tools: registry(t, e.tool("Edit")),
					Permissions: agent.Permissions{
						Config: policy.Config{Mode: policy.ModeDefault, Folders: []string{"/p"}},
						Ask: func(context.Context, approval.Request) (approval.Answer, error) {
							return approval.Answer{Decision: approval.Allow}, nil
						},
					},
					NewID: func() string { ids++; return strconv.Itoa(ids) },
				}
				if c.name != "after a cut" {
					o.Compact = compact
				}
				return newAgent(t, m, o)
			})
			for _, of := range []struct {
				kind  session.Kind
				field string
			}{{record.KindToolStarted, "use_id"}, {record.KindToolFinished, "use_id"}, {record.KindDecision, "use_id"}, {record.KindApprovalAsked, "id"}, {record.KindApprovalResolved, "id"}} {
				seen := countIDs(t, s, "s", of.kind, of.field)
				if len(seen) != turns {
					t.Errorf("%s: %v, want %d ids", of.kind, seen, turns)
				}
			}
			if len(e.ran) != turns {
				t.Errorf("%d calls ran", len(e.ran))
			}
		})
	}
}
