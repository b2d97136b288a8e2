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

// newCondition compiles the "if" of a definition; nil when it has none.
func newCondition(d *Definition, o policy.RuleOptions) (*condition, error) {
	if d.If == "" {
		return nil, nil
	}
	return compileIf(d.If, cmp.Or(d.Dir, o.Cwd), o)
}

// compileIf reads one permission rule. The errors are *[Error]; a rule that can
// never match is one. dir is what a path that starts with one "/" is relative to.
func compileIf(rule, dir string, o policy.RuleOptions) (*condition, error) {
	// A rule that asks covers a line when it covers one of its commands. One that
	// denies would, of reads, cover writes as well.
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

// holds reports whether the hook is to run: the rule covers the call, or it cannot
// be known whether it does. A nil condition always holds.
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
