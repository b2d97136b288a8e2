package policy

import (
	"slices"
	"strings"
)

// coverAll reports whether the wide rules together match everything that the narrow rules match. A
// true result is always correct, but a false result may be wrong.
func coverAll(wide, narrow []rule) bool {
	for i := range narrow {
		if !slices.ContainsFunc(wide, func(w rule) bool { return w.covers(&narrow[i]) }) {
			return false
		}
	}
	return true
}

func (r *rule) covers(o *rule) bool {
	if r.target == targetTool && r.name.covers(&o.name) {
		// Rules about paths apply to other tools, too.
		return o.target != targetWrite && o.target != targetRead || o.text.bare || r.text.tool == "*"
	}
	if r.target != o.target {
		// If a path may not be read, it may not be changed either.
		return r.target == targetRead && o.target == targetWrite && r.source.Effect == Deny && !r.text.bare && r.path.coversGlob(&o.path)
	}
	switch r.target {
	case targetTool:
		return false
	case targetCommand:
		return r.name.covers(&o.name) && r.line.covers(&o.line)
	case targetRead:
		// The bare name covers only reads, but a path covers every access to it.
		return r.path.coversGlob(&o.path) && (!r.text.bare || o.text.bare || o.source.Effect == Allow)
	case targetWrite:
		return r.path.coversGlob(&o.path)
	case targetPath:
		return r.name.covers(&o.name) && r.path.coversGlob(&o.path)
	case targetHost:
		return r.name.covers(&o.name) && r.host.covers(&o.host)
	case targetName:
		return r.name.covers(&o.name) && r.line.covers(&o.line)
	case targetParam:
		return r.name.covers(&o.name) && strings.EqualFold(r.param.name, o.param.name) &&
			matchParts(r.param.value, strings.Join(o.param.value, "*"), false)
	}
	return false
}

// covers compares a star in the narrow pattern o like a character. Only a star in the wide pattern
// p can match it, and that star then matches everything that the star in o matches.
func (p *namePattern) covers(o *namePattern) bool {
	switch {
	case o.parts != nil:
		return p.match(strings.Join(o.parts, "*"))
	case o.server != "":
		return p.match(o.exact) && p.match(o.server+"*")
	}
	return p.match(o.exact)
}

func (p *linePattern) covers(o *linePattern) bool {
	return p.match(strings.Join(o.parts, "*")) && (p.isOpenEnded() || !o.isOpenEnded()) && p.sets == o.sets
}

func (p *hostPattern) covers(o *hostPattern) bool {
	switch {
	case p.every || p.text == o.text:
		return true
	case o.every:
		return false
	}
	return p.below != "" && strings.HasSuffix(o.text, p.below) || slices.Contains(p.hosts, o.text)
}

func (g *glob) coversGlob(o *glob) bool {
	switch {
	case g.base == o.base && g.pattern == o.pattern:
		return g.below || !o.below
	case g.literal && g.below, g.pattern == "**":
		_, in := under(g.base, o.base)
		return in
	}
	return g.below && g.match(o.base)
}
