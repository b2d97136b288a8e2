package otel

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/otelwire"
)

// busy is a collector that always asks the client to retry later.
type busy struct{}

func (busy) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Status: "503 Service Unavailable", Body: io.NopCloser(strings.NewReader("busy"))}, nil
}

// TestGiveUp checks that giveUp ends a request that waits for a collector.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := otelwire.NewPoster(&otelwire.Target{URL: "http://c", Client: &http.Client{Transport: busy{}}}, "spans"), time.Now()
		d := newDelivery()
		time.AfterFunc(time.Second, d.giveUp)
		d.send(t.Context(), "http://c", func(ctx context.Context) error { return p.Post(ctx, []byte("body")) })
		if err := d.failure(); !errors.Is(err, errGrace) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}
