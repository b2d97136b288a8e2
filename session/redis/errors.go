package redis

import (
	"errors"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/redis"
	"github.com/holdfast-dev/holdfast/session"
)

// refusal converts a script's answer to an error of package session, or returns nil if the script
// succeeded.
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
		e.Op, e.Err, e.Detail = "fork", session.ErrNotFound, "the source session does not exist"
	case "no record":
		e.Err, e.Seq, e.Detail = session.ErrInvalid, a.number(1), "the session itself has no record with this number"
	case "fenced":
		e.Err, e.Detail = session.ErrFenced, "the lease was released"
		if now := a.word(1); now != "" {
			e.Detail = "the epoch is now " + now
		}
	case "damaged":
		e.Err, e.Seq, e.Detail = session.ErrCorrupt, a.number(1), "the number of its records does not match its head"
		e.Hint = "run: holdfast sessions verify " + id
	case "format":
		return s.formatGone(op, id, a.word(1))
	default:
		e.Err, e.Detail = session.ErrCorrupt, "the server answered "+a.word(0)
	}
	return e
}

// formatGone is the error for a format key that changed while the store was open.
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
		Hint: "restore the server's data, or restart to create a new store",
	}
}

// hasCode reports whether the server's error has the given code. Old servers wrap the errors of
// scripts.
func hasCode(err error, name string) bool {
	return redis.HasCode(err, name) || strings.Contains(err.Error(), "-"+name+" ")
}

// translate converts other errors to those of package session.
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
		return set(session.ErrUnavailable, "check that the server is running: redis-cli ping")
	}
	if again, _ := retryable(err); again || hasCode(err, "NOREPLICAS") {
		return set(session.ErrUnavailable, "the server is starting, busy or failing over; try again")
	}
	switch {
	case hasCode(err, "OOM"):
		return set(session.ErrFull, "raise the server's maxmemory, or delete sessions")
	case hasCode(err, "MISCONF") && strings.Contains(strings.ToLower(err.Error()), "space"):
		return set(session.ErrFull, "free space on the server's disk")
	case hasCode(err, "MISCONF"):
		return set(session.ErrReadOnly, "the server cannot write its files; check its log")
	case hasCode(err, "READONLY"):
		return set(session.ErrReadOnly, "the server is a replica; use its primary")
	case hasCode(err, "NOPERM"), strings.Contains(err.Error(), "The user executing the script can't"):
		return set(session.ErrReadOnly, "allow the user ~"+s.base+"* &"+s.base+"* and +@read +@write +@scripting +@pubsub +info +time +config|get +bgrewriteaof")
	case hasCode(err, "NOAUTH"), hasCode(err, "WRONGPASS"):
		out.Hint = "check the user and password in the URL: redis://user:password@host"
	case hasCode(err, "WRONGTYPE"):
		return set(session.ErrCorrupt, "another program writes keys with the prefix "+s.base)
	case hasCode(err, "CROSSSLOT"), hasCode(err, "MOVED"), hasCode(err, "ASK"):
		out.Hint = "the cluster is being reconfigured; try again"
	}
	return out
}
