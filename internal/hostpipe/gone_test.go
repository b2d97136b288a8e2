package hostpipe_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/model"
)

// A process whose host disappears during an answer does not wait for the rest.
func TestHostGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside, host := net.Pipe()
		c := hostpipe.Dial(inside, nil)
		defer c.Close()
		ctx, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		go func() { // as the program does
			<-c.Lost()
			stop(hostpipe.ErrLost)
		}()
		go func() {
			_, _ = io.ReadFull(host, make([]byte, 1)) // the request has begun to arrive
			go func() { _, _ = io.Copy(io.Discard, host) }()
			time.Sleep(time.Second)
			_ = host.Close()
		}()
		began := time.Now()
		var last error
		for _, err := range c.Model(0, model.Info{Provider: "p", Model: "m", API: "a"}).Stream(ctx, &model.Request{System: "s"}) {
			last = err
		}
		if took := time.Since(began); took > time.Second || !errors.Is(last, hostpipe.ErrLost) {
			t.Errorf("after %v: %v", took, last)
		}
	})
}
