package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Pending lists the open questions of a session, or with "" those of all
// sessions, oldest first. A question whose time has run out is open until
// somebody has written that down. Those that can be read are returned beside the
// error for those that cannot.
func Pending(ctx context.Context, sessions *session.Sessions, sessionID string) ([]Request, error) {
	var metas []session.Meta
	if sessionID != "" {
		m, err := sessions.Get(ctx, sessionID)
		if err != nil {
			return nil, err
		}
		metas = []session.Meta{m}
	} else {
		p, err := sessions.List(ctx, session.Query{WithApprovals: true, Worktrees: true})
		if err != nil {
			return nil, err
		}
		metas = p.Sessions
	}
	var all []Request
	var failed error
	for _, m := range metas {
		open, err := openOf(ctx, sessions, m)
		if sessionID == "" && errors.Is(err, session.ErrNotFound) {
			continue // deleted meanwhile
		}
		all = append(all, open...)
		failed = errors.Join(failed, err)
	}
	slices.SortStableFunc(all, func(a, b Request) int { return a.AskedAt.Compare(b.AskedAt) })
	return all, failed
}

// openOf reads a session's open questions, oldest first. The meta says how many
// there are, so that it need not read further back than the first of them.
func openOf(ctx context.Context, sessions *session.Sessions, m session.Meta) ([]Request, error) {
	if m.OpenApprovals <= 0 {
		return nil, nil
	}
	var open []Request
	answered := map[string]bool{}
	for r, err := range newestFirst(ctx, sessions, m) {
		if err != nil {
			return open, err
		}
		if r.Kind == record.KindApprovalResolved {
			a, err := readAnswer(m.ID, r)
			if err != nil {
				return open, err
			}
			answered[a.RequestID] = true
			continue
		}
		q, err := readRequest(m.ID, r)
		if err != nil {
			return open, err
		}
		if answered[q.ID] {
			continue
		}
		if open = append(open, q); len(open) == m.OpenApprovals {
			break
		}
	}
	slices.Reverse(open)
	return open, nil
}

// Find finds a question by its id or an unambiguous beginning of it, and its
// answer when it has one. Open questions are looked through first; only when none
// of them fits are all logs read. ErrNoRequest when none does, or several do.
func Find(ctx context.Context, sessions *session.Sessions, id string) (Request, *Answer, error) {
	if strings.TrimSpace(id) == "" {
		return Request{}, nil, fmt.Errorf("%w: the id is empty; hint: holdfast approvals list", ErrNoRequest)
	}
	open, err := Pending(ctx, sessions, "")
	var all []requestState
	for _, q := range open {
		all = append(all, requestState{question: q})
	}
	if f, ok := choose(all, id); ok {
		f, err := exact(ctx, sessions, f, id)
		return f.question, f.answer, err
	}
	if err != nil {
		return Request{}, nil, err
	}
	p, err := sessions.List(ctx, session.Query{Worktrees: true})
	if err != nil {
		return Request{}, nil, err
	}
	all = nil
	for _, m := range p.Sessions {
		some, err := history(ctx, sessions, m, id)
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return Request{}, nil, err
		}
		all = append(all, some...)
	}
	if f, ok := choose(all, id); ok {
		return f.question, f.answer, nil
	}
	what := "no question has the id " + id
	if len(all) > 1 {
		what = fmt.Sprintf("%d questions begin with %s", len(all), id)
	}
	return Request{}, nil, fmt.Errorf("%w: %s; hint: holdfast approvals list", ErrNoRequest, what)
}

// choose takes the question with this id, else the only one that begins with it.
func choose(all []requestState, id string) (requestState, bool) {
	if i := slices.IndexFunc(all, func(f requestState) bool { return f.question.ID == id }); i >= 0 {
		return all[i], true
	}
	fits := slices.DeleteFunc(slices.Clone(all), func(f requestState) bool { return !strings.HasPrefix(f.question.ID, id) })
	if len(fits) != 1 {
		return requestState{}, false
	}
	return fits[0], true
}

// exact returns the question with exactly this id when the session of f, whose id
// begins with it, has one: then it was no beginning.
func exact(ctx context.Context, sessions *session.Sessions, f requestState, id string) (requestState, error) {
	if f.question.ID == id {
		return f, nil
	}
	m, err := sessions.Get(ctx, f.question.Session)
	if err != nil {
		return requestState{}, err
	}
	whole, err := look(ctx, sessions, m, id)
	if errors.Is(err, ErrNoRequest) {
		return f, nil
	}
	return whole, err
}

// history reads all questions of a session whose id begins with prefix.
func history(ctx context.Context, sessions *session.Sessions, m session.Meta, prefix string) ([]requestState, error) {
	var all []requestState
	answers := map[string]Answer{}
	for r, err := range newestFirst(ctx, sessions, m) {
		if err != nil {
			return all, err
		}
		if r.Kind == record.KindApprovalResolved {
			a, err := readAnswer(m.ID, r)
			if err != nil {
				return all, err
			}
			answers[a.RequestID] = a
			continue
		}
		q, err := readRequest(m.ID, r)
		if err != nil {
			return all, err
		}
		if !strings.HasPrefix(q.ID, prefix) {
			continue
		}
		f := requestState{question: q}
		if a, ok := answers[q.ID]; ok {
			f.answer = &a
		}
		all = append(all, f)
	}
	return all, nil
}
