// Package policycheck describes a policy and explains its decision for a call without running it.
// It runs nothing and opens no file that a call names.
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
// In a run, only package policy decides.
package policycheck

import (
	"cmp"
	"context"

	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// Judge evaluates tool calls under settings, for any folder and mode. It caches the guards of each
// pair. It is not safe for concurrent use.
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

// GuardSet is the guards of a folder and a mode.
type GuardSet struct {
	*policy.Guards

	Cwd   string // without links
	tools map[string]*policy.Guard
}

// maxCached is the maximum number of cached guard sets.
const maxCached = 128

// New returns a Judge. home is the user's home folder, for "~"; search is the address of the search
// engine if the settings have none. Both may be "".
func New(s *settings.Settings, home, search string) *Judge {
	return &Judge{settings: s, home: home, search: cmp.Or(s.WebSearch.URL.Value, search), cache: map[cacheKey]*GuardSet{}}
}

// Guards returns the guards of a folder and a mode; "" means those of the settings.
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

// Decide evaluates a call in the folder of the guards, with the requests derived from its input.
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
