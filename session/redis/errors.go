package redis

import (
	"errors"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/redis"
	"github.com/holdfast-dev/holdfast/session"
)

// refusal makes what a script answered the contract's error; nil when it did its work.
func (s *Store) refusal(op, id string, a answer) error {
	e := &session.Error{Op: op, Session: id}
	switch a.word(0) {
	case "ok", "held", "":
		return nil
	case "missing":
		e.Err = session.ErrNotFound
	case "exists":
		e.Err = session.ErrExists
	case "conflict":
		e.Err, e.Seq = session.ErrConflict, a.number(1)
	case "no parent":
		e.Op, e.Err, e.Detail = "fork", session.ErrNotFound, "the session to fork from is not there"
	case "no record":
		e.Err, e.Seq, e.Detail = session.ErrInvalid, a.number(1), "the session has no such record of its own"
	case "fenced":
		e.Err, e.Detail = session.ErrFenced, "the lease was given back"
		if now := a.word(1); now != "" {
			e.Detail = "the epoch is now " + now
		}
	case "damaged":
		e.Err, e.Seq, e.Detail = session.ErrCorrupt, a.number(1), "the list of its records is not as long as its head says"
		e.Hint = "run: holdfast sessions verify " + id
	case "format":
		return s.formatGone(op, id, a.word(1))
	default:
		e.Err, e.Detail = session.ErrCorrupt, "the server answered "+a.word(0)
	}
	return e
}

// formatGone is for a format key that changed under an open store.
func (s *Store) formatGone(op, id, now string) error {
	if now != "" {
		err := s.checkFormat(now)
		if e, ok := errors.AsType[*session.Error](err); ok {
			e.Op, e.Session = op, id
		}
		return err
	}
	return &session.Error{
		Op: op, Session: id, Err: session.ErrPoisoned, Detail: s.shown + ": the keys of the store were removed",
		Hint: "restore the server's data, or start again to begin a new store",
	}
}

// code tells whether the server's error is of that kind; scripts wrap it on old servers.
func code(err error, name string) bool {
	return redis.HasCode(err, name) || strings.Contains(err.Error(), "-"+name+" ")
}

// translate makes other errors the contract's.
func (s *Store) translate(op, id string, err error) error {
	if errors.Is(err, errCluster) {
		return errCluster
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		return e
	}
	out := &session.Error{Op: op, Session: id, Err: err, Detail: s.shown}
	set := func(sentinel error, hint string) error {
		out.Err, out.Detail, out.Hint = sentinel, s.shown+": "+err.Error(), hint
		return out
	}
	if errors.Is(err, redis.ErrClosed) {
		return s.closedError(op, id)
	}
	if _, answered := errors.AsType[redis.Error](err); !answered {
		return set(session.ErrUnavailable, "see whether the server runs and answers: redis-cli ping")
	}
	if again, _ := passing(err); again || code(err, "NOREPLICAS") {
		return set(session.ErrUnavailable, "the server is starting, busy or failing over: try again")
	}
	switch {
	case code(err, "OOM"):
		return set(session.ErrFull, "raise the server's maxmemory, or delete sessions")
	case code(err, "MISCONF") && strings.Contains(strings.ToLower(err.Error()), "space"):
		return set(session.ErrFull, "free space on the server's disk")
	case code(err, "MISCONF"):
		return set(session.ErrReadOnly, "the server cannot write its files: see its log")
	case code(err, "READONLY"):
		return set(session.ErrReadOnly, "the server follows another one: name that one")
	case code(err, "NOPERM"), strings.Contains(err.Error(), "The user executing the script can't"):
		return set(session.ErrReadOnly, "allow the user ~"+s.base+"* &"+s.base+"* and +@read +@write +@scripting +@pubsub +info +time +config|get +bgrewriteaof")
	case code(err, "NOAUTH"), code(err, "WRONGPASS"):
		out.Hint = "put the right user and password into the URL: redis://user:password@host"
	case code(err, "WRONGTYPE"):
		return set(session.ErrCorrupt, "somebody else writes keys that begin with "+s.base)
	case code(err, "CROSSSLOT"), code(err, "MOVED"), code(err, "ASK"):
		out.Hint = "the cluster is being changed: try again"
	}
	return out
}
