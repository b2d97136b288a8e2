package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shortid"
	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// Find returns the session for a name that a user typed. The name may be an id, a title or an
// unambiguous prefix or end of an id, in this order. Otherwise the error wraps ErrNotFound, and its Hint
// lists the sessions that an ambiguous name fits, or else the nearest names. A session in the trash is found only by its full id.
func (s *Sessions) Find(ctx context.Context, name string) (Meta, error) {
	return s.find(ctx, name, false)
}

// FindTrashed is [Sessions.Find] for sessions in the trash.
func (s *Sessions) FindTrashed(ctx context.Context, name string) (Meta, error) {
	m, err := s.find(ctx, name, true)
	if err == nil && m.Trashed == "" {
		return Meta{}, &Error{Op: "restore", Session: m.ID, Err: ErrInvalid, Detail: "it is not in the trash", Hint: "holdfast sessions list --trash"}
	}
	return m, err
}

func (s *Sessions) find(ctx context.Context, name string, trashed bool) (Meta, error) {
	if CheckID(name) == nil {
		m, err := s.Get(ctx, name)
		if err == nil || !errors.Is(err, ErrNotFound) {
			return m, err
		}
	}
	if strings.TrimSpace(name) == "" {
		return Meta{}, s.notFound(ctx, name, "the name is empty")
	}
	p, err := s.store.List(ctx, Query{Worktrees: true, OnlyTrash: trashed})
	if err != nil {
		return Meta{}, err
	}
	var found []Meta
	for _, m := range p.Sessions {
		if m.Title == name {
			found = append(found, m)
		}
	}
	detail := "%d sessions have this title"
	if len(found) == 0 {
		found, detail = shortid.Find(p.Sessions, func(m Meta) string { return m.ID }, name), "%d session ids start or end with this"
	}
	switch len(found) {
	case 0:
		return Meta{}, s.notFound(ctx, name, "")
	case 1:
		return found[0], nil
	}
	return Meta{}, ambiguous(name, fmt.Sprintf(detail, len(found)), found)
}

// maxCandidates is the maximum number of sessions in the hint of an ambiguous name.
const maxCandidates = 5

// ambiguous returns the ErrNotFound for a name of several sessions, with the newest of them as its
// hint.
func ambiguous(name, detail string, found []Meta) error {
	var list []string
	for _, m := range found[:min(maxCandidates, len(found))] {
		words := m.ID
		if title := cmp.Or(m.Title, m.FirstPrompt); title != "" {
			words += " (" + clip(strings.Join(strings.Fields(title), " "), 40) + ")"
		}
		list = append(list, words)
	}
	if more := len(found) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return &Error{Op: "find", Session: name, Err: ErrNotFound, Detail: detail, Hint: "one of: " + strings.Join(list, ", ")}
}

// notFound returns the ErrNotFound for a name, with the nearest sessions as its hint.
func (s *Sessions) notFound(ctx context.Context, name, detail string) error {
	e := &Error{Op: "find", Session: name, Err: ErrNotFound, Detail: detail, Hint: "holdfast sessions list"}
	p, err := s.store.List(ctx, Query{Limit: 500})
	if err != nil {
		return e
	}
	var names []string
	for _, m := range p.Sessions {
		if names = append(names, m.ID); m.Title != "" {
			names = append(names, m.Title)
		}
	}
	if near := nearest(name, names); len(near) > 0 {
		e.Hint = "nearest: " + strings.Join(near, ", ")
	}
	return e
}

// nearest returns up to three elements of names that are similar to name: one is a prefix of the
// other, or they differ by a few edits. The most similar come first.
func nearest(name string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	var near []scored
	for _, n := range names {
		score := -1
		switch {
		case n == "":
		case name != "" && (strings.HasPrefix(n, name) || strings.HasPrefix(name, n)):
			score = 0
		default:
			if d := spelling.Edits(clip(name, maxIDBytes), clip(n, maxIDBytes)); d <= max(2, len(name)/4) {
				score = d
			}
		}
		if score >= 0 && !slices.ContainsFunc(near, func(s scored) bool { return s.name == n }) {
			near = append(near, scored{n, score})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var out []string
	for _, n := range near[:min(3, len(near))] {
		out = append(out, n.name)
	}
	return out
}
