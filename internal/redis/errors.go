package redis

import (
	"errors"
	"strings"
)

// Error is what a server answers instead of doing what was asked: "NOAUTH Authentication
// required." The connection is good.
type Error string

func (e Error) Error() string { return string(e) }

// is reports whether the error has this code, its first word. Some servers put "ERR "
// in front of it.
func (e Error) is(code string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(string(e), "ERR "), code)
	return ok && (rest == "" || rest[0] == ' ')
}

// HasCode reports whether an error is a server's with this code, its first word.
func HasCode(err error, code string) bool {
	e, ok := errors.AsType[Error](err)
	return ok && e.is(code)
}

var (
	// ErrClosed is the error of calls after Close.
	ErrClosed = errors.New("the client is closed")
	// ErrBusy is the error of a call that found all connections in use for too long.
	ErrBusy = errors.New("all connections to the server are in use")
	// ErrProtocol is the error of an answer that breaks the protocol or is too long.
	ErrProtocol = errors.New("the server does not answer as a Redis server does")
)
