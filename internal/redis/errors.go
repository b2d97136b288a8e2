package redis

import (
	"errors"
	"strings"
)

// Error is an error reply of a server: "NOAUTH Authentication required." The connection stays usable.
type Error string

func (e Error) Error() string { return string(e) }

// is reports whether the code of the error, its first word, is this one. Some servers put "ERR "
// before the code.
func (e Error) is(code string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(string(e), "ERR "), code)
	return ok && (rest == "" || rest[0] == ' ')
}

// HasCode reports whether an error is an [Error] whose code, its first word, is this one.
func HasCode(err error, code string) bool {
	e, ok := errors.AsType[Error](err)
	return ok && e.is(code)
}

var (
	// ErrClosed is the error of calls after Close.
	ErrClosed = errors.New("the client is closed")
	// ErrBusy is the error of a call for which no connection became free in time.
	ErrBusy = errors.New("all connections to the server are in use")
	// ErrProtocol is the error for a reply that violates the protocol or is too long.
	ErrProtocol = errors.New("the server's reply violates the Redis protocol")
)
