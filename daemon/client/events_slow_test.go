package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowBody is a body that sends one byte at a time, with pauses.
type slowBody struct {
	text  string
	pause time.Duration
	ctx   context.Context
}

func (d *slowBody) Read(p []byte) (int, error) {
	select {
	case <-time.After(d.pause):
	case <-d.ctx.Done():
		return 0, context.Cause(d.ctx)
	}
	if d.text == "" {
		return 0, io.EOF
	}
	p[0], d.text = d.text[0], d.text[1:]
	return 1, nil
}

func (d *slowBody) Close() error { return nil }

// slowTransport answers every request with a slowBody.
type slowTransport struct {
	text  string
	pause time.Duration
	asked int
}

func (d *slowTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	d.asked++
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: &slowBody{d.text, d.pause, r.Context()}, Request: r}, nil
}

const twoRecords = "event: record\nid: 1\ndata: {\"seq\":1,\"kind\":\"turn.opened\",\"payload\":{}}\n\n" +
	"event: record\nid: 2\ndata: {\"seq\":2,\"kind\":\"turn.opened\",\"payload\":{}}\n\n"

// A record that takes minutes to arrive is received, and so is one after a record that takes the
// caller minutes: only silence counts as a lost connection.
func TestSlowStream(t *testing.T) {
	for name, c := range map[string]struct {
		pause, busy time.Duration
	}{
		"a slow way":  {heartbeatInterval - time.Second, 0},
		"a slow loop": {time.Millisecond, 10 * heartbeatInterval},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				way := &slowTransport{text: twoRecords, pause: c.pause}
				cl := &Client{http: &http.Client{Transport: way}, base: "http://holdfast", address: "here"}
				var seqs []int64
				for e, err := range cl.Events(t.Context(), "s", 0) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Lost {
						t.Fatalf("lost after %v: %v", seqs, e.Err)
					}
					seqs = append(seqs, e.Seq)
					time.Sleep(c.busy) // on synctest's clock
					if len(seqs) == 2 {
						break
					}
				}
				if way.asked != 1 {
					t.Errorf("%d connections", way.asked)
				}
			})
		})
	}
}

func TestSilentStreamReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := &slowTransport{text: twoRecords, pause: heartbeatInterval + time.Second}
		cl := &Client{http: &http.Client{Transport: way}, base: "http://holdfast", address: "here"}
		for e, err := range cl.Events(t.Context(), "s", 0) {
			if err != nil || !e.Lost || !strings.Contains(e.Err.Error(), "no data for") {
				t.Fatalf("%+v %v", e, err)
			}
			break
		}
	})
}
