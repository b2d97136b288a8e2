package listen

import (
	"context"
	"errors"
	"net"
	"testing"
)

func TestPipe(t *testing.T) {
	p := NewPipe()
	done := make(chan error, 1)
	go func() {
		c, err := p.Accept()
		if err == nil {
			_, err = c.Write([]byte("x"))
		}
		done <- err
	}()
	c, err := p.Dial(t.Context(), "tcp", "anywhere:1")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil || <-done != nil {
		t.Error(n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Dial(ctx, "", ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := p.Dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
