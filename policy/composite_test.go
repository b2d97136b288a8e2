package policy

import (
	"context"
	"encoding/json"
	"testing"
)

// fixedPolicy is a policy that always returns the same verdict and counts its calls.
type fixedPolicy struct {
	Verdict
	asked *int
}

func (s fixedPolicy) Evaluate(r Request) Verdict {
	if s.asked != nil {
		*s.asked++
	}
	return s.Verdict
}

func effect(e Effect) Policy { return fixedPolicy{Verdict: Verdict{Effect: e, Reason: string(e)}} }

func TestComposite(t *testing.T) {
	for _, c := range []struct {
		name    string
		members Composite
		want    Effect
	}{
		{"empty", nil, NoOpinion},
		{"nobody", Composite{effect(NoOpinion), effect(NoOpinion)}, NoOpinion},
		{"nil member", Composite{effect(Allow), nil}, Deny},
		{"rubbish", Composite{effect("perhaps")}, Deny},
		{"deny last", Composite{effect(Allow), effect(Ask), effect(Deny)}, Deny},
		{"ask before allow", Composite{effect(Ask), effect(Allow)}, Ask},
		{"ask after allow", Composite{effect(Allow), effect(Ask)}, Ask},
		{"allow and none", Composite{effect(NoOpinion), effect(Allow), effect(NoOpinion)}, Allow},
		{"nested", Composite{Composite{effect(NoOpinion)}, Composite{effect(Allow)}}, Allow},
		{"nested deny", Composite{effect(Allow), Composite{effect(Deny)}}, Deny},
	} {
		if got := c.members.Evaluate(Request{Tool: "Bash"}); got.Effect != c.want {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
}

func TestCompositeStopsAtADeny(t *testing.T) {
	asked := 0
	c := Composite{effect(Deny), fixedPolicy{asked: &asked}}
	if v := c.Evaluate(Request{}); v.Effect != Deny || asked != 0 {
		t.Errorf("%+v, asked %d times", v, asked)
	}
}

// allowInput is a policy that allows only one input.
type allowInput string

func (w allowInput) Evaluate(r Request) Verdict {
	if string(r.Input) == string(w) {
		return Verdict{Effect: Allow}
	}
	return Verdict{Effect: Deny, Reason: "input " + string(r.Input)}
}

func TestCompositeCarriesInput(t *testing.T) {
	change := func(input string) Policy {
		return fixedPolicy{Verdict: Verdict{Effect: Allow, Input: json.RawMessage(input)}}
	}
	v := Composite{change(`{"a":1}`), allowInput(`{"a":1}`), change(`{"a":2}`), allowInput(`{"a":2}`), effect(Allow)}.Evaluate(Request{Input: json.RawMessage(`{}`)})
	if v.Effect != Allow || string(v.Input) != `{"a":2}` {
		t.Errorf("%+v", v)
	}
	if v := (Composite{effect(Allow), effect(Allow)}).Evaluate(Request{Input: json.RawMessage(`{}`)}); v.Input != nil {
		t.Errorf("an input that nobody changed is returned: %+v", v)
	}
	if v := (Composite{change(`{}`), effect(Ask)}).Evaluate(Request{}); v.Effect != Ask || v.Input != nil {
		t.Errorf("%+v", v)
	}
}

func TestCanUse(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Composite
		want Effect
	}{
		{"composite without an opinion", Composite{effect(NoOpinion)}, Allow},
		{"empty composite", Composite{}, Allow},
		{"nil member", Composite{nil}, Deny},
		{"ask", Composite{effect(Ask)}, Ask},
		{"deny", Composite{effect(Deny)}, Deny},
	} {
		v, err := c.p.CanUse(context.Background(), Request{Tool: "Bash"})
		if err != nil || v.Effect != c.want {
			t.Errorf("%s: %+v %v, want %q", c.name, v, err, c.want)
		}
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if v, err := (Composite{}).CanUse(over, Request{}); err == nil || v.Effect == Allow {
		t.Errorf("after the end: %+v %v", v, err)
	}
}
