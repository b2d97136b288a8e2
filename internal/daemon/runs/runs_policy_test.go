package runs_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestPolicy(t *testing.T) {
	w := begin(t, map[string]string{"writer": `
steps:
  - tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]
  - tool_uses: [{id: u2, tool: Bash, input: {command: git push}}]
  - text: done
`})
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	version, err := w.runs.Change(t.Context(), id, policy.Change{Patch: &policy.Patch{Mode: "read", Deny: []string{"secret/**"}}}, ann)
	w.ok(err)
	e := v.event(wire.RunPolicy)
	if len(e.Chains) != 1 || e.Chains[0].Tool != "Bash" || e.Chains[0].Version != version {
		t.Errorf("%+v", e)
	}
	if _, err := w.runs.Change(t.Context(), id, policy.Change{Patch: &policy.Patch{Mode: "exec"}}, ann); !errors.Is(err, policy.ErrInvalid) {
		t.Error(err)
	}
	stale := version - 1
	if _, err := w.runs.Change(t.Context(), id, policy.Change{IfVersion: &stale, Mode: policy.ModePlan}, ann); !errors.Is(err, policy.ErrStale) {
		t.Error(err)
	}
	_, err = w.runs.Decide(t.Context(), id, decision(q, approval.AllowSession), "")
	w.ok(err)
	if e := v.event(wire.RunPolicy); e.Chains[0].Version <= version {
		t.Errorf("%+v", e)
	}
	v.event(wire.RunCompleted) // the grant allows the second call
	if got := w.did(); len(got) != 2 {
		t.Errorf("ran %v", got)
	}
}

// Each policy change is published with its tool, even if another change follows before the agent
// has published it.
func TestPolicyChangeNamesTool(t *testing.T) {
	w := begin(t, map[string]string{"writer": `
steps:
  - tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]
  - text: done
`})
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	_, err := sessionpolicy.Change(t.Context(), w.sessions, id, func(g *policy.Guards) (policy.Change, error) { // by another program
		return g.Check(policy.Change{Grant: &policy.Grant{ID: "g1", Effect: policy.Deny, Tool: "Bash", Operation: policy.OpCommand, Resource: "git pull", Cwd: "/"}})
	})
	w.ok(err)
	_, err = w.runs.Change(t.Context(), id, policy.Change{Patch: &policy.Patch{Tool: "mcp__a__b", Mode: "read", Deny: []string{"x"}}}, ann)
	w.ok(err)
	_, err = w.runs.Change(t.Context(), id, policy.Change{Patch: &policy.Patch{Tool: "mcp__a__c", Mode: "read", Deny: []string{"x"}}}, ann)
	w.ok(err)
	_, err = w.runs.Decide(t.Context(), id, decision(q, approval.AllowSession), "")
	w.ok(err)
	v.event(wire.RunCompleted)
	events := map[string]int{}
	for _, r := range v.all {
		var e wire.RunEvent
		if r.Kind == record.KindRunEvent && json.Unmarshal(r.Payload, &e) == nil && e.Event == wire.RunPolicy {
			for _, c := range e.Chains {
				events[c.Tool]++
			}
		}
	}
	if events["Bash"] != 2 || events["mcp__a__b"] != 1 || events["mcp__a__c"] != 1 {
		t.Errorf("got events for %v", events)
	}
}

// A change before the start applies from the first decision on.
func TestPolicyBeforeStart(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	id := w.prepare(single())
	_, err := w.runs.Change(t.Context(), id, policy.Change{Mode: policy.ModeDontAsk}, ann)
	w.ok(err)
	w.ok(w.runs.Start(t.Context(), id, "go", "", ann))
	v := w.watch(id, 0)
	v.event(wire.RunCompleted)
	if got := w.did(); len(got) != 0 {
		t.Errorf("ran %v", got)
	}
}
