package egress

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Session represents one command. It records the refusals and the approvals for that command. The zero
// value is ready to use; it is safe for concurrent use and must not be copied.
type Session struct {
	ID string // the command's name in the log

	mu       sync.Mutex
	refusals map[refusalKey]*Refusal
	order    []refusalKey
	more     int // number of refusals after the first maxRefusals different ones
	logged   int
	answers  map[string]*answer
	reached  []string
}

type refusalKey struct {
	host   string
	port   int
	reason string
}

// Limits of what a session stores.
const (
	maxRefusals = 64
	maxAsks     = 64
	maxLogged   = 1000
	maxReached  = 1000
)

// Refusals returns the refusals so far, oldest first: at most 64 different ones.
func (s *Session) Refusals() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Refusal, len(s.order))
	for i, k := range s.order {
		out[i] = *s.refusals[k]
	}
	return out
}

// More returns the number of refusals that [Session.Refusals] does not return.
func (s *Session) More() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.more
}

// note records a refusal and reports whether to log it.
func (s *Session) note(f *Refusal) (logs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := refusalKey{f.Host, f.Port, f.Reason}
	switch old := s.refusals[k]; {
	case old != nil:
		old.Count++
	case len(s.order) >= maxRefusals:
		s.more++
	default:
		if s.refusals == nil {
			s.refusals = map[refusalKey]*Refusal{}
		}
		kept := *f
		kept.Count = 1
		s.refusals[k] = &kept
		s.order = append(s.order, k)
	}
	s.logged++
	return s.logged <= maxLogged
}

// noteReached records a host that was connected to.
func (s *Session) noteReached(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.reached) < maxReached && !slices.Contains(s.reached, host) {
		s.reached = append(s.reached, host)
	}
}

// Reached returns the hosts that were connected to, at most 1000 different ones.
func (s *Session) Reached() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reached)
}

// answer is the approver's answer about one host and port, once it has arrived.
type answer struct {
	done   chan struct{}
	ok     bool
	reason string // why not
}

// ask requests an answer once. Other callers that ask about the same target, at the same time or
// later, receive the same answer. The parameter start starts the goroutine that determines the
// answer.
func (s *Session) ask(ctx context.Context, target string, start func(func()), decide func() (bool, string)) (bool, string) {
	s.mu.Lock()
	a := s.answers[target]
	if a == nil {
		if len(s.answers) >= maxAsks {
			s.mu.Unlock()
			return false, "there were too many approval requests for hosts"
		}
		a = &answer{done: make(chan struct{})}
		if s.answers == nil {
			s.answers = map[string]*answer{}
		}
		s.answers[target] = a
		start(func() {
			defer close(a.done)
			a.ok, a.reason = decide()
		})
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.ok, cmp.Or(a.reason, "the user denied it")
	case <-ctx.Done():
		return false, "no one answered"
	}
}

// allowed reports whether the user has allowed a target.
func (s *Session) allowed(target string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answers[target]
	if a == nil {
		return false
	}
	select {
	case <-a.done:
		return a.ok
	default:
		return false
	}
}

// allow records a target as allowed: the answer covered both the name and its address.
func (s *Session) allow(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := make(chan struct{})
	close(done)
	s.answers[target] = &answer{done: done, ok: true}
}

// Allowed returns the hosts with ports that the user allowed, sorted.
func (s *Session) Allowed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for target, a := range s.answers {
		select {
		case <-a.done:
			if a.ok {
				out = append(out, target)
			}
		default:
		}
	}
	slices.Sort(out)
	return out
}
