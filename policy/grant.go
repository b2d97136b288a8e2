package policy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// grant is a compiled grant.
type grant struct {
	Grant
	rules *Rules // of Scope
}

// compileGrant checks and compiles a grant.
func (src *runGuards) compileGrant(g *Grant) (*grant, error) {
	switch {
	case g.Effect != Allow && g.Effect != Deny:
		return nil, fmt.Errorf("%w: the effect of a grant must be allow or deny, not %q", ErrInvalid, g.Effect)
	case g.Confined && g.Effect != Allow:
		return nil, fmt.Errorf("%w: only an allow grant can be limited to the sandbox", ErrInvalid)
	case g.Tool == "":
		return nil, fmt.Errorf("%w: a grant must name a tool", ErrInvalid)
	case !knownOperation(g.Operation):
		return nil, fmt.Errorf("%w: unknown operation %q of a grant", ErrInvalid, g.Operation)
	case g.Scope != "" && (g.Resource != "" || g.Cwd != ""):
		return nil, fmt.Errorf("%w: a grant must have a scope or a resource, not both", ErrInvalid)
	case g.Scope == "" && g.Operation != "" && g.Resource == "":
		return nil, fmt.Errorf("%w: a grant for %s must name a resource", ErrInvalid, g.Operation)
	case g.Dir != "" && (g.Scope == "" || !strings.HasPrefix(g.Dir, "/")):
		return nil, fmt.Errorf("%w: dir needs a scope and must be absolute", ErrInvalid)
	case g.Address != "" && g.Operation != OpConnect:
		return nil, fmt.Errorf("%w: only a grant for a connection can have an address", ErrInvalid)
	case g.Cwd != "" && g.Operation != OpCommand:
		return nil, fmt.Errorf("%w: only a grant for a command can have a folder", ErrInvalid)
	}
	c := &grant{Grant: *g}
	if g.Scope == "" {
		return c, nil
	}
	dir := cmp.Or(g.Dir, src.env.cwd())
	rules, problems, err :=

		RuleOptions{Home: src.env.home, Cwd: dir, Resolve: src.env.resolve}.Compile(
			[]RuleSource{{Effect: g.Effect, Text: g.Scope, Layer: layernames.Session, Dir: dir}})

	if err != nil {
		return nil, fmt.Errorf("%w: scope %q: %w", ErrInvalid, g.Scope, err)
	}
	if len(problems) > 0 { // the grant would cover nothing, which is certainly not intended
		return nil, fmt.Errorf("%w: scope %q: %s", ErrInvalid, g.Scope, problems[0].Detail)
	}
	c.rules = rules
	return c, nil
}

// Covers reports whether the grant covers a request. home is the folder that "~" means, or "" if it
// is not known. If the grant is invalid, the error wraps [ErrInvalid].
func (g Grant) Covers(r Request, home string) (bool, error) {
	src := &runGuards{env: environment{home: home}}
	c, err := src.compileGrant(&g)
	return err == nil && c.covers(newRequestView(r, home, nil)), err
}

func knownOperation(op Operation) bool {
	switch op {
	case "", OpRead, OpWrite, OpExec, OpCommand, OpConnect, OpMCP, OpSecret:
		return true
	}
	return false
}

// covers reports whether the grant covers a request. The tool must be equal. In addition, either
// the scope covers the request, or the operation, the resource, the address and, for a command, the
// folder are equal. A resource is never a pattern, and a folder does not cover its contents. A
// grant with Confined covers only requests in the sandbox.
func (g *grant) covers(s *requestView) bool {
	switch {
	case g.Tool != s.Tool, g.Confined && !s.Confined:
		return false
	case g.rules != nil:
		return (g.Operation == "" || g.Operation == s.Operation) && g.rules.judge(s).Effect == g.Effect
	}
	return g.Operation == s.Operation && g.Resource == s.Resource && g.Address == s.Address && (s.Operation != OpCommand || g.Cwd == s.Cwd)
}

// grantedBy returns the source of the grant as the end of a reason, or "" if it is not known.
func (g *grant) grantedBy() string {
	if g.By == "" {
		return ""
	}
	return ", by " + g.By
}

// grantName returns the name of a grant in the form of agentkit:
// "session-allow-write-generated---json". Two grants can have the same name; their IDs differ.
func (w *environment) grantName(g *Grant) string {
	about := g.Resource
	if g.Scope != "" {
		about = g.Scope
		if _, inner, ok := strings.Cut(strings.TrimSuffix(about, ")"), "("); ok {
			about = inner
		}
	}
	for _, f := range w.folders {
		if rest, ok := under(f, about); ok && rest != "" {
			about = rest
			break
		}
	}
	name := "session-" + string(g.Effect) + "-" + verb(g.Operation)
	if about == "" {
		about = g.Tool
	}
	return name + "-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, about)
}

// verb is the word for an operation in the name of a grant.
func verb(op Operation) string {
	switch op {
	case OpRead:
		return "read"
	case OpWrite:
		return "write"
	case OpExec:
		return "exec"
	case OpCommand:
		return "command"
	case OpConnect:
		return "connect"
	case OpMCP:
		return "call"
	case OpSecret:
		return "secret"
	}
	return "tool"
}
