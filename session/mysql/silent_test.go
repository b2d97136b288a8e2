package mysql_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/mysql"
)

// A server that accepts connections but does not answer is unavailable; the store does not
// wait forever.
func TestSilentServer(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = mysql.Open(context.Background(), "mysql://u@"+l.Addr().String()+"/db?timeout=1s", nil)
	if !errors.Is(err, session.ErrUnavailable) {
		t.Error(err)
	}
}
