package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

func TestModes(t *testing.T) {
	read := policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: "/p/a", ReadOnly: true}
	edit := policy.Request{Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a"}
	command := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "make"}
	network := policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "example.org"}
	call := policy.Request{Tool: "mcp__s__t", Operation: policy.OpMCP, Resource: "s/t"}
	for _, c := range []struct {
		mode policy.Mode
		want map[string]policy.Effect
	}{
		{policy.ModeDefault, map[string]policy.Effect{"Read": policy.Allow, "Edit": policy.Ask, "Bash": policy.Ask, "WebFetch": policy.Ask, "mcp__s__t": policy.Ask}},
		{policy.ModePlan, map[string]policy.Effect{"Read": policy.Allow, "Edit": policy.Ask, "Bash": policy.Ask, "WebFetch": policy.Ask, "mcp__s__t": policy.Ask}},
		{policy.ModeAcceptEdits, map[string]policy.Effect{"Read": policy.Allow, "Edit": policy.Allow, "Bash": policy.Ask, "WebFetch": policy.Ask, "mcp__s__t": policy.Ask}},
		{policy.ModeBypass, map[string]policy.Effect{"Read": policy.Allow, "Edit": policy.Allow, "Bash": policy.Allow, "WebFetch": policy.Allow, "mcp__s__t": policy.Allow}},
	} {
		for _, r := range []policy.Request{read, edit, command, network, call} {
			v := c.mode.Evaluate(r)
			if v.Effect != c.want[r.Tool] || !strings.Contains(v.Reason, string(c.mode)) {
				t.Errorf("mode %s on %s: %s because %q, want %s", c.mode, r.Tool, v.Effect, v.Reason, c.want[r.Tool])
			}
		}
	}
}

func TestAnUnknownModeAsks(t *testing.T) {
	if v := policy.Mode("yolo").Evaluate(policy.Request{Operation: policy.OpCommand}); v.Effect != policy.Ask {
		t.Errorf("an unknown mode said %s", v.Effect)
	}
	for _, s := range []string{"", "yolo", "Default", "bypass"} {
		if err := policy.Mode(s).Check(); err == nil {
			t.Errorf("%q is a mode", s)
		}
	}
	for _, m := range policy.Modes() {
		if err := m.Check(); err != nil {
			t.Errorf("%s: %v", m, err)
		}
	}
}

func TestDigestCoversWhatWasAsked(t *testing.T) {
	base := policy.Request{Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a", Input: []byte(`{"x":1}`)}
	same := base
	same.Session, same.Display, same.Agent = "other", "a", "b"
	if base.Digest() != same.Digest() {
		t.Error("the digest depends on where it was asked or how it was shown")
	}
	for name, change := range map[string]func(*policy.Request){
		"tool":       func(r *policy.Request) { r.Tool = "Write" },
		"operation":  func(r *policy.Request) { r.Operation = policy.OpRead },
		"resource":   func(r *policy.Request) { r.Resource = "/p/ab" },
		"input":      func(r *policy.Request) { r.Input = []byte(`{"x":2}`) },
		"sandbox":    func(r *policy.Request) { r.Confined = true },
		"no sandbox": func(r *policy.Request) { r.Unsandboxed = true },
		"a shifted boundary": func(r *policy.Request) {
			r.Tool, r.Operation = "Editf", "s.write"
		},
	} {
		r := base
		if change(&r); r.Digest() == base.Digest() {
			t.Errorf("the digest does not cover a change of %s", name)
		}
	}
}

func ExampleMode_Evaluate() {
	r := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "make test"}
	fmt.Println(policy.ModeDefault.Evaluate(r).Effect, policy.ModeBypass.Evaluate(r).Effect)
	// Output: ask allow
}

func ExampleMode_Check() {
	fmt.Println(policy.Mode("acceptEdits").Check())
	// Output: <nil>
}
