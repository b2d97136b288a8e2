package policy

import (
	"errors"
	"testing"
)

func TestToolNameListsRefuse(t *testing.T) {
	for _, names := range [][]string{nil, {}, {""}, {"Read", ""}, {"Web*"}, {"Bash(ls)"}, {"a b"}, {"Re\x00ad"}} {
		if p, err := ToolNames(names).Allow(); p != nil || !errors.Is(err, ErrInvalid) {
			t.Errorf("allowlist %q: %v", names, err)
		}
		if p, err := ToolNames(names).Deny(); p != nil || !errors.Is(err, ErrInvalid) {
			t.Errorf("denylist %q: %v", names, err)
		}
	}
}

func TestToolNameLists(t *testing.T) {
	names := []string{"Read", "Glob"}
	allow, err := ToolNames(names).Allow()
	if err != nil {
		t.Fatal(err)
	}
	deny, err := ToolNames(names).Deny()
	if err != nil {
		t.Fatal(err)
	}
	names[0] = "Bash" // the lists are their own
	for tool, want := range map[string][2]Effect{
		"Read": {Allow, Deny}, "Glob": {Allow, Deny}, "Bash": {Deny, NoOpinion}, "read": {Deny, NoOpinion}, "": {Deny, NoOpinion}, "Read ": {Deny, NoOpinion},
	} {
		r := Request{Tool: tool}
		if got := [2]Effect{allow.Evaluate(r).Effect, deny.Evaluate(r).Effect}; got != want {
			t.Errorf("%q: %q, want %q", tool, got, want)
		}
	}
	if v := deny.Evaluate(Request{Tool: "Glob"}); v.Reason != `Tool "Glob" is denied` {
		t.Error(v.Reason)
	}
}

func TestReadOnly(t *testing.T) {
	if v := (ReadOnly{}).Evaluate(Request{Tool: "Read", ReadOnly: true}); v.Effect != Allow {
		t.Errorf("%+v", v)
	}
	if v := (ReadOnly{}).Evaluate(Request{Tool: "Read", Operation: OpRead}); v.Effect != Deny {
		t.Errorf("%+v", v)
	}
}

// A tool that claims to change nothing but writes or runs something is not believed.
func TestReadOnlyClaimChecked(t *testing.T) {
	for _, op := range []Operation{OpWrite, OpExec, OpCommand} {
		if v := (ReadOnly{}).Evaluate(Request{Tool: "X", Operation: op, Resource: "/w/a", ReadOnly: true}); v.Effect != Deny {
			t.Errorf("%s: %+v", op, v)
		}
	}
	g, err := New(&Config{Mode: ModeBypass})
	if err != nil {
		t.Fatal(err)
	}
	if d := g.Guard("X").Judge(t.Context(), []Request{{Tool: "X", Operation: "fs.delete", Resource: "/w/a", ReadOnly: true}}, nil); d.Effect != Deny {
		t.Errorf("an operation that nobody knows: %s", d.Effect)
	}
}
