package policy

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// PathRules are rules about paths, for reading, for writing or for both (agentkit's). Globs are
// absolute, below "~/", or relative to Cwd. In Deny, "**/x" means x anywhere.
type PathRules struct {
	Allow   []string
	Deny    []string // overrides Allow
	Default Effect   // effect for paths that match neither list; may be NoOpinion
	Cwd     string
	Home    string
	// Origins are the positions where the Deny entries were written, in the same order; verdicts
	// contain them.
	Origins []Origin
	// Resolve is [Config.Resolve]: a denied folder that is a link also denies the folder that the
	// link points to. If nil, paths are compared as written.
	Resolve func(path string) string
}

type readPaths struct{ pathLists }

type writePaths struct{ pathLists }

type forbiddenGlobs struct{ pathLists }

// accessRead is the access that [PathRules.ReadPolicy] checks.
const accessRead = shellparse.Read | shellparse.Exec

// ReadPolicy returns a policy that decides about reads by their path and has no opinion on writes.
// For a command, it checks the paths that the command would read. It can deny or ask about them,
// but never allows the command itself. Empty lists without a default, an invalid glob, and an
// unknown default are errors that wrap [ErrInvalid].
func (o PathRules) ReadPolicy() (Policy, error) {
	l, err := newPathLists(accessRead, "reading", o)
	if err != nil {
		return nil, err
	}
	return &readPaths{l}, nil
}

// WritePolicy returns a policy that decides about writes, like [PathRules.ReadPolicy], with the
// same errors.
func (o PathRules) WritePolicy() (Policy, error) {
	l, err := newPathLists(shellparse.Write, "writing", o)
	if err != nil {
		return nil, err
	}
	return &writePaths{l}, nil
}

// ForbidPolicy returns a policy that denies every access to a path of Deny and has no opinion on
// the rest. The policy ignores Allow and Default. It belongs in [Config.Limits]. An empty Deny and
// an invalid glob are errors that wrap [ErrInvalid].
func (o PathRules) ForbidPolicy() (Policy, error) {
	o.Allow, o.Default = nil, NoOpinion
	l, err := newPathLists(shellparse.Read|shellparse.Write|shellparse.Exec, "touching", o)
	if err != nil {
		return nil, err
	}
	return &forbiddenGlobs{l}, nil
}

// Evaluate checks the path of a request, or the paths of its command.
func (p *readPaths) Evaluate(r Request) Verdict { return p.judge(newRequestView(r, p.home, nil)) }

// Evaluate checks the path of a request, or the paths of its command.
func (p *writePaths) Evaluate(r Request) Verdict { return p.judge(newRequestView(r, p.home, nil)) }

// Evaluate checks the path of a request, or the paths of its command.
func (p *forbiddenGlobs) Evaluate(r Request) Verdict { return p.judge(newRequestView(r, p.home, nil)) }

// pathLists decides about paths: the deny list overrides the allow list, and the allow list
// overrides the default.
type pathLists struct {
	access      shellparse.Access
	doing       string
	allow, deny []glob
	rest        Effect
	home        string
}

func newPathLists(access shellparse.Access, doing string, o PathRules) (pathLists, error) {
	l := pathLists{access: access, doing: doing, rest: o.Default, home: o.Home}
	switch {
	case !slices.Contains([]Effect{NoOpinion, Allow, Deny, Ask}, o.Default):
		return l, fmt.Errorf("%w: unknown default %q of paths for %s; hint: use allow, deny or ask", ErrInvalid, o.Default, doing)
	case len(o.Allow) == 0 && len(o.Deny) == 0 && o.Default == NoOpinion:
		return l, fmt.Errorf("%w: the list of paths for %s is empty; hint: name a path, or omit the list", ErrInvalid, doing)
	}
	var err error
	if l.deny, err = compileGlobs("deny", doing, o.Deny, o, true); err != nil {
		return l, err
	}
	l.allow, err = compileGlobs("allow", doing, o.Allow, o, false)
	return l, err
}

func compileGlobs(list, doing string, texts []string, o PathRules, forbids bool) ([]glob, error) {
	globs := make([]glob, len(texts))
	for i, text := range texts {
		g, err := pathGlob(text, o.Cwd, o.Home, forbids)
		if err != nil {
			return nil, fmt.Errorf("%w: %s %q for %s: %w", ErrInvalid, list, text, doing, err)
		}
		globs[i] = g
	}
	if forbids {
		for i := range min(len(o.Origins), len(globs)) {
			globs[i].origin = &o.Origins[i]
		}
		globs = followAll(globs, o.Resolve)
	}
	return globs, nil
}

// followAll adds the globs whose folders are links, with the links resolved.
func followAll(globs []glob, resolve func(string) string) []glob {
	for i := range globs {
		if to, linked := globs[i].follow(resolve); linked {
			globs = append(globs, to)
		}
	}
	return globs
}

// judge checks every path; the strictest verdict wins.
func (l *pathLists) judge(s *requestView) Verdict {
	var out Verdict
	for i := range s.paths {
		p := &s.paths[i]
		if p.access&l.access == 0 || isHarmlessDevice(p.path) {
			continue
		}
		switch v := l.judgePath(p); {
		case v.Effect == Deny:
			return v
		case v.Effect == Ask && out.Effect != Ask, v.Effect == Allow && out.Effect == NoOpinion && s.reading == nil:
			out = v
		}
	}
	return out
}

func (l *pathLists) judgePath(p *requestPath) Verdict {
	doubt := Verdict{}
	for i := range l.deny {
		g := &l.deny[i]
		switch {
		case p.path == "":
			return g.verdict(Ask, "the path %s cannot be determined", argText(p.arg))
		case !g.match(p.path) && (p.real == p.path || !g.match(p.real)):
			if doubt.Effect == NoOpinion && p.mayHold(g) {
				doubt = g.verdict(Ask, "a path below %s may match %s", p.path, g.text)
			}
		case p.from == shellparse.FromGuess:
			if doubt.Effect == NoOpinion {
				doubt = g.verdict(Ask, "%s may be a path that matches %s", p.arg, g.text)
			}
		default:
			return g.verdict(Deny, "%s %s is forbidden by %s", l.doing, p.path, g.text)
		}
	}
	if doubt.Effect != NoOpinion {
		return doubt
	}
	for i := range l.allow {
		if g := &l.allow[i]; g.covers(p) {
			return g.verdict(Allow, "%s %s is allowed by %s", l.doing, p.path, g.text)
		}
	}
	if l.rest == NoOpinion {
		return Verdict{}
	}
	if p.from == shellparse.FromGuess && l.rest == Deny {
		return Verdict{Effect: Ask, Reason: fmt.Sprintf("%s may be a path, and no pattern allows %s it", p.arg, l.doing)}
	}
	return Verdict{Effect: l.rest, Reason: fmt.Sprintf("no pattern covers %s %s", l.doing, pathText(p.path))}
}

func (g *glob) verdict(e Effect, format string, args ...any) Verdict {
	o := Origin{Rule: g.text}
	if g.origin != nil {
		o = *g.origin
	}
	return Verdict{Effect: e, Reason: fmt.Sprintf(format, args...), Rule: &o}
}
