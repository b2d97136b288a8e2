package workspace

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"testing"
)

// An engine that accepts connections and never answers blocks only callers that wait for it.
func TestHangingEngine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("engines listen at pipes there")
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	okay(t, err)
	defer l.Close()
	asked := make(chan struct{}, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			asked <- struct{}{}
		}
	}()
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	w, err := New(t.TempDir(), nil)
	okay(t, err)
	first := make(chan error, 1)
	go func() {
		_, err := w.Engine(context.WithoutCancel(t.Context()))
		first <- err
	}()
	<-asked
	if _, err := w.Engine(canceled(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("who does not wait: %v", err)
	}
	select {
	case err := <-first:
		t.Errorf("it ended first: %v", err)
	default:
	}
	if err := <-first; !errors.Is(err, ErrNoEngine) {
		t.Errorf("who waits: %v", err)
	}
}
