// Package policycheck says what a permission policy is, and what would become of a tool call by
// it. It runs nothing and opens no file that a call names.
//
//	settings ─┬─► Describe ─► Document
//	          └─► Judge ─► Guards ─┐
//	                        Call ──┴─► Decide ─► Explain ─► Explanation
//
// The commands of `holdfast policy` and the daemon's routes for policies use it:
//
//	j := policycheck.New(settings, home, "")
//	g, err := j.Guards("", "")
//	decision, requests, err := j.Decide(ctx, g, policycheck.Call{Tool: "Bash", Input: input})
//
// What is allowed in a run is decided by package policy alone.
package policycheck

import (
	"cmp"
	"context"

	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// Judge judges tool calls by settings, in whatever folder and mode they would be
// made. Guards are made once for each pair. It is not safe for concurrent use.
type Judge struct {
	settings *settings.Settings
	home     string
	search   string // see [Call]
	cache    map[cacheKey]*GuardSet
}

type cacheKey struct {
	cwd  string
	mode policy.Mode
}

// GuardSet are the guards of a folder and a mode.
type GuardSet struct {
	*policy.Guards

	Cwd   string // without links
	tools map[string]*policy.Guard
}

// maxCached bounds the guards that are kept.
const maxCached = 128

// New returns a judge. home is the user's home folder, for "~"; search is the address of the search
// engine where settings name none. Both may be "".
func New(s *settings.Settings, home, search string) *Judge {
	return &Judge{settings: s, home: home, search: cmp.Or(s.WebSearch.URL.Value, search), cache: map[cacheKey]*GuardSet{}}
}

// Guards returns the guards of a folder, "" for the settings' own, and a mode, ""
// for the settings' own.
func (j *Judge) Guards(cwd string, mode policy.Mode) (*GuardSet, error) {
	at := cacheKey{cwd, mode}
	if g, ok := j.cache[at]; ok {
		return g, nil
	}
	s := j.settings
	if cwd != "" {
		s = s.ForFolder(cwd)
	}
	if mode == "" {
		mode = s.Mode.Value
	}
	if err := s.CheckMode(mode); err != nil {
		return nil, err
	}
	config, err := s.Policy()
	if err != nil {
		return nil, err
	}
	config.Mode = mode
	all, err := policy.New(&config)
	if err != nil {
		return nil, err
	}
	if len(j.cache) >= maxCached {
		clear(j.cache)
	}
	g := &GuardSet{Guards: all, Cwd: s.Cwd(), tools: map[string]*policy.Guard{}}
	j.cache[at] = g
	return g, nil
}

// Decide judges a call, in the folder of the guards, by the requests that its input makes.
func (j *Judge) Decide(ctx context.Context, g *GuardSet, c Call) (policy.Decision, []policy.Request, error) {
	c.Cwd, c.Home, c.Search = g.Cwd, j.home, j.search
	requests, err := c.Requests()
	if err != nil {
		return policy.Decision{}, nil, err
	}
	return g.judge(ctx, c.Tool, requests), requests, nil
}

func (g *GuardSet) judge(ctx context.Context, tool string, requests []policy.Request) policy.Decision {
	guard, ok := g.tools[tool]
	if !ok {
		if len(g.tools) >= maxCached {
			clear(g.tools)
		}
		guard = g.Guard(tool)
		g.tools[tool] = guard
	}
	return guard.Judge(ctx, requests, nil)
}
