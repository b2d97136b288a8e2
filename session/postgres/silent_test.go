package postgres_test

import (
	"errors"
	"net"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/postgres"
)

// A server that accepts connections but does not answer is unavailable; the connection timeout
// is not the end of the caller's context.
func TestSilentServer(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = postgres.Open(t.Context(), "postgres://u@"+l.Addr().String()+"/db?connect_timeout=1&sslmode=disable", nil)
	if !errors.Is(err, session.ErrUnavailable) {
		t.Error(err)
	}
}
