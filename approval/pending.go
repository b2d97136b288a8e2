package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/shortid"
	"github.com/holdfast-dev/holdfast/session"
)

// Pending lists the open approval requests of a session, oldest first. If the id is "", it lists
// those of all sessions. An expired request stays open until a record that denies it is written. If
// some requests cannot be read, Pending returns the others together with the error.
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

// openOf reads the open approval requests of a session, oldest first. The session's metadata
// contains the number of open requests, so openOf reads backward only as far as the oldest of them.
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

// Find finds an approval request by its id or a unique prefix or end of it, and its answer if there is
// one. It searches the open requests first, and reads all logs only if no open request matches. It
// returns ErrNoRequest if no request or more than one matches. In the second case, the error has a
// method Hint that lists them.
func Find(ctx context.Context, sessions *session.Sessions, id string) (Request, *Answer, error) {
	if strings.TrimSpace(id) == "" {
		return Request{}, nil, fmt.Errorf("%w: the id is empty; hint: holdfast approvals list", ErrNoRequest)
	}
	open, err := Pending(ctx, sessions, "")
	var all []requestState
	for _, q := range open {
		all = append(all, requestState{request: q})
	}
	if f, ok := choose(all, id); ok {
		f, err := exact(ctx, sessions, f, id)
		return f.request, f.answer, err
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
		return f.request, f.answer, nil
	}
	if fits := withID(all, id); len(fits) > 1 {
		return Request{}, nil, &ambiguousError{id, fits}
	}
	return Request{}, nil, fmt.Errorf("%w: no approval request has the id %s; hint: holdfast approvals list", ErrNoRequest, id)
}

// ambiguousError means that several approval requests have ids that begin with id.
type ambiguousError struct {
	id  string
	all []requestState
}

func (e *ambiguousError) Error() string {
	return fmt.Sprintf("%d approval ids start or end with %q", len(e.all), e.id)
}

// Hint lists the requests, at most five of them.
func (e *ambiguousError) Hint() string {
	var list []string
	for _, f := range e.all[:min(5, len(e.all))] {
		list = append(list, f.request.ID+" ("+f.request.Tool+")")
	}
	if more := len(e.all) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return "one of: " + strings.Join(list, ", ")
}

func (e *ambiguousError) Unwrap() error { return ErrNoRequest }

// choose returns the request with this id, or else the only request whose id begins or ends with it.
func choose(all []requestState, id string) (requestState, bool) {
	if i := slices.IndexFunc(all, func(f requestState) bool { return f.request.ID == id }); i >= 0 {
		return all[i], true
	}
	fits := withID(all, id)
	if len(fits) != 1 {
		return requestState{}, false
	}
	return fits[0], true
}

// withID returns the requests whose ids begin or end with id.
func withID(all []requestState, id string) []requestState {
	return shortid.Find(all, func(f requestState) string { return f.request.ID }, id)
}

// exact returns the request whose id is exactly id, if the session of f has such a request.
// Otherwise id is a prefix and exact returns f.
func exact(ctx context.Context, sessions *session.Sessions, f requestState, id string) (requestState, error) {
	if f.request.ID == id {
		return f, nil
	}
	m, err := sessions.Get(ctx, f.request.Session)
	if err != nil {
		return requestState{}, err
	}
	whole, err := look(ctx, sessions, m, id)
	if errors.Is(err, ErrNoRequest) {
		return f, nil
	}
	return whole, err
}

// history reads all approval requests of a session whose ids begin or end with name.
func history(ctx context.Context, sessions *session.Sessions, m session.Meta, name string) ([]requestState, error) {
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
		if !strings.HasPrefix(q.ID, name) && !strings.HasSuffix(q.ID, name) {
			continue
		}
		f := requestState{request: q}
		if a, ok := answers[q.ID]; ok {
			f.answer = &a
		}
		all = append(all, f)
	}
	return all, nil
}
