package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/session"
)

func pgError(err error) *pgconn.PgError {
	e, _ := errors.AsType[*pgconn.PgError](err)
	return e
}

func hasCode(err error, codes ...string) bool {
	e := pgError(err)
	for _, c := range codes {
		if e != nil && strings.HasPrefix(e.Code, c) {
			return true
		}
	}
	return false
}

// isUndefined reports whether a table or column does not exist or has another type.
func isUndefined(err error) bool { return hasCode(err, "42P01", "42703", "42846", "22P02") }

// isCorrupt reports whether the server cannot read its stored data.
func isCorrupt(err error) bool { return hasCode(err, "XX001", "XX002") }

// isTemporary reports whether the error is temporary, so that a retry may succeed: the connection
// was lost, the server is starting or shutting down, or it ended a transaction because of a
// conflict.
func isTemporary(err error) bool {
	if pgError(err) != nil {
		return hasCode(err, "08", "57P01", "57P02", "57P03", "57P05", "40001", "40P01")
	}
	if isFinal(err) {
		return false
	}
	_, network := errors.AsType[net.Error](err)
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	return network || connect || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), "conn closed")
}

// isFinal reports whether an error is already one of package session, or comes from the caller's
// context. A connection timeout is neither.
func isFinal(err error) bool {
	_, final := errors.AsType[*session.Error](err)
	_, busy := errors.AsType[*session.BusyError](err)
	if _, connect := errors.AsType[*pgconn.ConnectError](err); connect && !final {
		return false
	}
	return final || busy || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

const unreachableHint = "check that the server is running and reachable, then try again"

// translate converts the server's errors to those of package session.
func (s *Store) translate(op, id string, err error) error {
	if err == nil || isFinal(err) {
		return err
	}
	out := &session.Error{Op: op, Session: id, Err: err, Detail: s.at.String()}
	e := pgError(err)
	if e == nil {
		if s.ctx != nil && s.ctx.Err() != nil {
			out.Err = session.ErrClosed
			return out
		}
		out.Err = errors.New(s.at.removeSecrets(err.Error()))
		if isTemporary(err) {
			out.Err, out.Detail = session.ErrUnavailable, s.at.String()+": "+s.at.removeSecrets(err.Error())
		}
		out.Hint = unreachableHint
		return out
	}
	out.Err = errors.New(s.at.removeSecrets(e.Message))
	set := func(sentinel error, hint string) *session.Error {
		if sentinel != nil {
			out.Err, out.Detail = sentinel, s.at.String()+": "+s.at.removeSecrets(e.Message)
		}
		out.Hint = hint
		return out
	}
	switch {
	case hasCode(err, "08", "57P01", "57P02", "57P03", "57P05", "53200"):
		return set(session.ErrUnavailable, unreachableHint)
	case hasCode(err, "53100"):
		return set(session.ErrFull, "free space on the disk of the database server")
	case hasCode(err, "25006"):
		return set(session.ErrReadOnly, "use the primary server, or make the database writable")
	case hasCode(err, "42501"):
		return set(session.ErrReadOnly, "allow the user to create objects: GRANT CREATE, CONNECT ON DATABASE … TO …; or make the user the owner of the schema")
	case hasCode(err, "XX001", "XX002"):
		return set(session.ErrCorrupt, "back up the database and run: holdfast sessions verify")
	case hasCode(err, "53300"):
		return set(session.ErrUnavailable, "the server has no more connections: lower pool_max_conns in the URL or raise max_connections")
	case hasCode(err, "28"):
		return set(nil, "check user and password in the URL, and pg_hba.conf of the server")
	case hasCode(err, "3D000"):
		return set(nil, "create the database with: createdb NAME")
	case hasCode(err, "22021", "22P05", "54000"):
		return set(session.ErrInvalid, "")
	case hasCode(err, "55P03", "57014", "40001", "40P01"):
		return set(session.ErrBusy, "try again")
	}
	return out
}
