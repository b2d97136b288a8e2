package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/policy/shellread"
)

// The names of the links that patches are in (seed 002).
const (
	readPathName  = "read-path-policy"
	writePathName = "write-path-policy"
)

// patch is a patch that can be compared with paths.
type patch struct {
	Patch
	access      shellread.Access
	allow, deny []glob
}

// compilePatch checks a patch and makes it ready.
func (src *source) compilePatch(p *Patch) (*patch, error) {
	switch {
	case p.Mode != "read" && p.Mode != "write":
		return nil, fmt.Errorf("%w: a patch is for mode read or write, not %q", ErrInvalid, p.Mode)
	case len(p.Allow) == 0 && len(p.Deny) == 0 && p.Default == "":
		return nil, fmt.Errorf("%w: the patch changes nothing", ErrInvalid)
	}
	switch p.Default {
	case None, Allow, Deny, Ask:
	default:
		return nil, fmt.Errorf("%w: a patch's default is allow, deny or ask, not %q", ErrInvalid, p.Default)
	}
	c := &patch{Patch: *p, access: shellread.Read}
	if p.Mode == "write" {
		c.access = shellread.Write
	}
	c.Allow, c.Deny = slices.Clone(p.Allow), slices.Clone(p.Deny)
	var err error
	if c.allow, err = src.globs(c.Allow, false); err == nil {
		c.deny, err = src.globs(c.Deny, true)
	}
	return c, err
}

func (src *source) globs(list []string, forbids bool) ([]glob, error) {
	out := make([]glob, len(list))
	for i, text := range list {
		g, err := pathGlob(text, src.world.cwd(), src.world.home, forbids)
		if err != nil {
			return nil, fmt.Errorf("%w: path pattern %q: %w", ErrInvalid, text, err)
		}
		out[i] = g
	}
	return out, nil
}

// patched returns the policies of a tool's chain: those of the configuration, and
// then the patches that concern the tool, one link for reading and one for
// writing. It needs the source's lock for reading.
func (src *source) patched(tool string) []Named {
	if len(src.patches) == 0 {
		return src.policies
	}
	list := slices.Clone(src.policies)
	for _, l := range [...]*pathLink{
		{name: readPathName, access: shellread.Read},
		{name: writePathName, access: shellread.Write},
	} {
		for _, p := range src.patches {
			if p.access == l.access && (p.Tool == "" || p.Tool == tool) {
				l.patches = append(l.patches, p)
			}
		}
		if len(l.patches) > 0 {
			list = append(list, Named{Name: l.name, Policy: l})
		}
	}
	return list
}

// pathLink is what the patches of one mode say to a tool: deny beats allow beats
// the last default. Its allow counts like that of a rule.
type pathLink struct {
	name    string
	access  shellread.Access
	patches []*patch
}

// Evaluate judges a request by its letters; a guard resolves the paths of commands.
func (l *pathLink) Evaluate(r Request) Verdict { return l.judge(newSubject(r, "", nil)) }

func (l *pathLink) judge(s *subject) Verdict {
	var worst Verdict
	for i := range s.places {
		p := &s.places[i]
		if p.access&l.access == 0 || isHarmlessDevice(p.path) {
			continue
		}
		if v := l.place(p); i == 0 || weight(v.Effect) > weight(worst.Effect) {
			worst = v
		}
	}
	if worst.Effect == Allow && s.reading != nil {
		return Verdict{} // that a command may touch a path does not mean that it may run
	}
	return worst
}

func (l *pathLink) place(p *place) Verdict {
	if g, doubt := l.denies(p); g != nil {
		if doubt != "" {
			return Verdict{Effect: Ask, Reason: l.name + " may deny it (" + g.text + "): " + doubt}
		}
		return Verdict{Effect: Deny, Reason: l.name + " denies " + p.path + " (" + g.text + ")"}
	}
	for _, c := range l.patches {
		for i := range c.allow {
			if c.allow[i].covers(p) {
				return Verdict{Effect: Allow, Reason: l.name + " allows " + p.path + " (" + c.allow[i].text + ")"}
			}
		}
	}
	if p.from == shellread.FromGuess || p.from == shellread.FromShape {
		return Verdict{}
	}
	if e := l.otherwise(); e != None {
		return Verdict{Effect: e, Reason: l.name + ": " + string(e) + " is its default for " + known(p.path)}
	}
	return Verdict{}
}

// denies finds a pattern that denies the path, or may.
func (l *pathLink) denies(p *place) (found *glob, doubt string) {
	for _, c := range l.patches {
		for i := range c.deny {
			g := &c.deny[i]
			switch {
			case p.path == "":
				found, doubt = g, "it cannot be known which path "+nameOf(p.arg)+" is"
			case g.match(p.path), g.match(p.real):
				return g, ""
			case p.tree && p.mayHold(g):
				found, doubt = g, "what is below "+p.path+" may be such a path"
			}
		}
	}
	return found, doubt
}

// otherwise is the default: of the last patch that has one.
func (l *pathLink) otherwise() Effect {
	for _, c := range slices.Backward(l.patches) {
		if c.Default != None {
			return c.Default
		}
	}
	return None
}

// String says what the link holds.
func (l *pathLink) String() string {
	var parts []string
	for _, c := range l.patches {
		for _, a := range c.Deny {
			parts = append(parts, "deny "+a)
		}
		for _, a := range c.Allow {
			parts = append(parts, "allow "+a)
		}
	}
	if e := l.otherwise(); e != None {
		parts = append(parts, "default "+string(e))
	}
	return strings.Join(parts, ", ")
}
