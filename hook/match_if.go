package hook

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// condition is a compiled "if". It is immutable and safe for concurrent use.
type condition struct {
	tool  string
	rules *policy.Rules
}

// newCondition compiles the "if" of a definition; it returns nil if the definition has none.
func newCondition(d *Definition, o policy.RuleOptions) (*condition, error) {
	if d.If == "" {
		return nil, nil
	}
	return compileIf(d.If, cmp.Or(d.Dir, o.Cwd), o)
}

// compileIf parses one permission rule. Errors have the type *[Error]; a rule that can never match
// is also an error. dir is the base for a path that starts with one "/".
func compileIf(rule, dir string, o policy.RuleOptions) (*condition, error) {
	// The rule is compiled as an ask rule, because an ask rule covers a line if it covers one of
	// the commands in it. A deny rule about reads would also cover writes.
	source := policy.RuleSource{Effect: policy.Ask, Text: rule, Dir: dir}
	rules, problems, err := o.Compile([]policy.RuleSource{source})
	if len(problems) > 0 {
		return nil, &Error{What: "the rule " + strconv.Quote(rule) + ": " + problems[0].Detail, Advice: problems[0].Hint}
	}
	if err != nil {
		return nil, &Error{What: err.Error()}
	}
	tool, _, _ := strings.Cut(rule, "(")
	return &condition{tool: strings.TrimSpace(tool), rules: rules}, nil
}

// holds reports whether the hook runs. It runs if the rule covers the call, or if it cannot be
// determined whether the rule covers it. A nil condition always holds.
func (c *condition) holds(in *Input) bool {
	if c == nil {
		return true
	}
	if len(in.Tool.Requests) == 0 {
		return c.tool == in.Tool.Name || c.covers(policy.Request{Tool: in.Tool.Name, Input: in.Tool.Input})
	}
	return slices.ContainsFunc(in.Tool.Requests, c.covers)
}

func (c *condition) covers(r policy.Request) bool {
	return c.rules.Evaluate(r).Effect != policy.NoOpinion
}
