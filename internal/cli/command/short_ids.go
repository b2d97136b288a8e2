package command

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/shortid"
	"github.com/holdfast-dev/holdfast/session"
)

// ShortIDs returns the function that shortens the ids of sessions for a list. At a terminal it
// returns the shortest form that [session.Sessions.Find] accepts. In a pipe, and for a session in
// the trash, it returns the full id, because a program may keep it for longer than it is unique.
func ShortIDs(ctx context.Context, p *Program, sessions *session.Sessions) (func(id string) string, error) {
	if !p.Out.TTY {
		return func(id string) string { return id }, nil
	}
	page, err := sessions.List(ctx, session.Query{Worktrees: true})
	if err != nil {
		return nil, err
	}
	return ShortIDsOf(page.Sessions), nil
}

// ShortIDsOf is ShortIDs for a terminal, given all sessions of the store.
func ShortIDsOf(all []session.Meta) func(id string) string {
	var ids, titles []string
	for _, m := range all {
		ids, titles = append(ids, m.ID), append(titles, m.Title)
	}
	short := shortid.Of(ids, titles)
	return func(id string) string {
		if s, ok := short[id]; ok {
			return s
		}
		return id
	}
}
