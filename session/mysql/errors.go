package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/holdfast-dev/holdfast/session"
)

// errorCode returns the server's error number, or 0.
func errorCode(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

// The server's error numbers that are handled separately.
const (
	codeBadNull   = 1048
	codeDuplicate = 1062
	codeDeadlock  = 1213
	codeSignal    = 1644
)

// isOwnError reports whether the error comes from this store's own checks.
func isOwnError(err error) bool {
	_, final := errors.AsType[*session.Error](err)
	return final || errors.Is(err, session.ErrBusy)
}

// isRefused reports whether an append failed because the session's row did not have the expected
// values.
func isRefused(err error) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (e.Number == codeBadNull || e.Number == codeSignal && e.Message == refusedText)
}

func isDeadlock(err error) bool { return errorCode(err) == codeDeadlock }

// isLost reports whether the connection ended before the answer arrived, so that the request may
// or may not have been carried out.
func isLost(err error) bool {
	if isOwnError(err) {
		return false
	}
	switch errorCode(err) {
	case 0:
	case 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 3169: // shutdown, aborted, killed
		return true
	default:
		return false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// errorMeaning translates an error of the server. hint may be "".
type errorMeaning struct {
	err  error
	hint string
}

// diskFullMessage matches the server's messages about a full disk: ENOSPC, EDQUOT and its own
// number for a full table.
var diskFullMessage = lazyregexp.Must(`(?i)(errno:|got error) (28|122|135)\b`)

var meanings = map[uint16]errorMeaning{
	1021: {session.ErrFull, "free space on the server's disk"},
	1114: {session.ErrFull, "free space on the server's disk, or let its tablespace grow"},
	1037: {session.ErrBusy, "the server has no memory left: try again later"},
	1038: {session.ErrBusy, "the server has no memory left: try again later"},
	1040: {session.ErrUnavailable, "raise max_connections on the server, or lower conns= in the URL"},
	1203: {session.ErrUnavailable, "raise max_user_connections of the user, or lower conns= in the URL"},
	1226: {session.ErrUnavailable, "raise the limits of the user on the server"},
	1205: {session.ErrBusy, "find the lock holder with: SHOW ENGINE INNODB STATUS"},
	1213: {session.ErrBusy, "find the lock holders with: SHOW ENGINE INNODB STATUS"},
	1290: {session.ErrReadOnly, "use the primary server, not a replica"},
	1792: {session.ErrReadOnly, "use the primary server, not a replica"},
	1836: {session.ErrReadOnly, "use the primary server, not a replica"},
	3098: {session.ErrReadOnly, "use the primary server, not a replica"},
	1044: {session.ErrReadOnly, "grant the user all rights in the database: GRANT ALL ON database.* TO user"},
	1142: {session.ErrReadOnly, "grant the user all rights in the database: GRANT ALL ON database.* TO user"},
	1143: {session.ErrReadOnly, "grant the user all rights in the database: GRANT ALL ON database.* TO user"},
	1370: {session.ErrReadOnly, "grant the user all rights in the database: GRANT ALL ON database.* TO user"},
	1045: {nil, "check user and password in the URL"},
	1698: {nil, "check user and password in the URL"},
	1049: {session.ErrNotFound, "create it: CREATE DATABASE name; holdfast creates the tables"},
	1118: {session.ErrInvalid, "increase the server's redo log to ten times the largest payload"},
	1153: {session.ErrInvalid, "raise max_allowed_packet on the server"},
	1264: {session.ErrInvalid, ""},
	1406: {session.ErrInvalid, ""},
	1034: {session.ErrCorrupt, "check the table on the server with: CHECK TABLE"},
	1712: {session.ErrCorrupt, "check the table on the server with: CHECK TABLE"},
	1877: {session.ErrCorrupt, "check the table on the server with: CHECK TABLE"},
}

// translate converts the server's errors to errors of package session. It leaves this store's own
// errors and those of a context unchanged.
func (s *Store) translate(op, id string, err error) error {
	if err == nil || isOwnError(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if s.closed.Load() {
		return s.closedError(op, id)
	}
	out := &session.Error{Op: op, Session: id, Err: err, Detail: s.addr.shown}
	if errors.Is(err, errAgain) {
		out.Err, out.Hint = session.ErrBusy, "too many concurrent writes to the session; try again"
		return out
	}
	if m, ok := meanings[errorCode(err)]; ok {
		out.Hint = m.hint
		if m.err != nil {
			out.Err, out.Detail = m.err, s.addr.shown+": "+err.Error()
		}
		return out
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && diskFullMessage().MatchString(e.Message) {
		out.Err, out.Detail, out.Hint = session.ErrFull, s.addr.shown+": "+err.Error(), "free space on the server's disk"
		return out
	}
	if isLost(err) {
		out.Err, out.Detail = session.ErrUnavailable, s.addr.shown+": "+err.Error()
		out.Hint = "check that the server is reachable and try again; the last request may have been carried out; repeating it is safe"
	}
	return out
}

func (s *Store) closedError(op, id string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrClosed, Detail: s.addr.shown}
}
