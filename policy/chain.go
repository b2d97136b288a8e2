package policy

import (
	"slices"
	"strings"
)

// The stages of a chain, in evaluation order.
const (
	stageLimits   = "limits"
	stageSandbox  = "sandbox"
	stageGrants   = "grants"
	stageCallback = "callback"
	stagePolicies = "policies"
	stageRules    = "rules"
	stageMode     = "mode"
)

// chain lists the links that a request of the tool passes.
func (g *Guard) chain() Chain {
	v, src := g.guards.view(g.tool), g.guards.run
	c := Chain{Tool: g.tool, Version: v.version, Mode: v.mode}
	add := func(l ChainLink) { c.Links = append(c.Links, l) }
	for _, n := range src.limits {
		add(ChainLink{Name: n.Name, Stage: stageLimits, Detail: detail(n.Policy)})
	}
	if src.autoAllowOrigin != nil && g.tool == bashTool {
		rule := *src.autoAllowOrigin
		add(ChainLink{Name: sandboxName, Stage: stageSandbox, Detail: "autoAllowBashIfSandboxed: sandboxed commands need no approval", Rule: &rule})
	}
	if g.guards.folder != "" {
		add(ChainLink{Name: folderName, Stage: stageGrants, Detail: "files in " + g.guards.folder + " are the agent's private files"})
	}
	for _, g := range v.grants {
		if g.Tool == c.Tool {
			add(ChainLink{Name: g.Name, Stage: stageGrants, Detail: g.detail()})
		}
	}
	if v.callback != nil {
		add(ChainLink{Name: callbackName, Stage: stageCallback})
	}
	for _, n := range v.policies {
		add(ChainLink{Name: n.Name, Stage: stagePolicies, Detail: detail(n.Policy)})
	}
	if src.rules != nil {
		add(ChainLink{Name: rulesName, Stage: stageRules, Detail: detail(src.rules)})
	}
	add(ChainLink{Name: v.mode.link(), Stage: stageMode})
	return c
}

// detail returns the description that a policy gives of itself, or "".
func detail(p Policy) string {
	switch p := p.(type) {
	case *readPaths:
		return p.text()
	case *writePaths:
		return p.text()
	case *forbiddenGlobs:
		return p.text()
	case interface{ String() string }:
		return p.String()
	}
	return ""
}

// text lists the patterns: "deny secrets/**, allow src/**, default ask".
func (l *pathLists) text() string {
	var parts []string
	for i := range l.deny {
		if part := "deny " + l.deny[i].text; !slices.Contains(parts, part) { // a link produces the same pattern twice
			parts = append(parts, part)
		}
	}
	for i := range l.allow {
		parts = append(parts, "allow "+l.allow[i].text)
	}
	if l.rest != NoOpinion {
		parts = append(parts, "default "+string(l.rest))
	}
	return strings.Join(parts, ", ")
}

// detail describes what the grant covers.
func (g *grant) detail() string {
	parts := []string{string(g.Effect), g.ID}
	switch {
	case g.Scope != "":
		parts = append(parts, g.Scope)
	case g.Resource != "":
		parts = append(parts, string(g.Operation), g.Resource)
	}
	if g.Cwd != "" {
		parts = append(parts, "in", g.Cwd)
	}
	return strings.Join(parts, " ")
}
