package modeltest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/model"
)

// silence tests that a call ends in time if its provider is silent, and does not end if its
// provider is only slow.
func (a Adapter) silence(t *testing.T) {
	for _, tt := range []struct {
		name     string
		server   silentServer
		timeouts model.Timeouts
		busy     time.Duration // of the caller, for each event
		says     string        // the error; "" for none
		partial  string
		after    time.Duration
	}{
		{name: "no connection", server: silentServer{stops: beforeConnection}, says: "no connection within 30s", after: 30 * time.Second},
		{name: "no answer", server: silentServer{stops: beforeAnswer}, says: "no answer within 2m0s", after: 2 * time.Minute},
		{name: "nothing after the header", says: "nothing more of the answer within 1m30s", after: 90 * time.Second},
		{name: "a stall after text", server: silentServer{says: []string{a.First}}, says: "within 1m30s", partial: "Half", after: 90 * time.Second},
		{
			name: "pings for ever", server: silentServer{says: []string{a.First}, then: a.Ping, every: 10 * time.Second},
			says: "within 1m30s", partial: "Half", after: 100 * time.Second,
		},
		{name: "a slow answer", server: silentServer{says: []string{a.First, a.Remaining}, every: 80 * time.Second}},
		{name: "a slow reader", server: silentServer{says: []string{a.First, a.Remaining}}, busy: time.Hour},
		{
			name: "shorter", server: silentServer{stops: beforeAnswer}, timeouts: model.Timeouts{FirstByte: time.Second},
			says: "no answer within 1s; hint: if it needs longer, set providers.", after: time.Second,
		},
		{name: "no bound", server: silentServer{says: []string{a.First, a.Remaining}, every: 24 * time.Hour}, timeouts: model.Timeouts{Idle: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, err := a.OpenWith("http://127.0.0.1", &http.Client{Transport: &tt.server}, tt.timeouts)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				var last error
				for _, err := range m.Stream(t.Context(), &model.Request{}) {
					time.Sleep(tt.busy)
					last = err
				}
				if tt.says == "" {
					if last != nil {
						t.Error(last)
					}
					return
				}
				e, _ := errors.AsType[*model.Error](last)
				if e == nil || e.Kind != model.ErrorNetwork || !e.Retryable() || !strings.Contains(e.Message, tt.says) {
					t.Fatalf("error %v", last)
				}
				if (e.Partial != nil) != (tt.partial != "") || e.Partial != nil && e.Partial.Text() != tt.partial {
					t.Errorf("partial %+v", e.Partial)
				}
				if took := time.Since(began); took != tt.after { // of the bubble's clock
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// webPage tests that the error names a web page.
func (a Adapter) webPage(t *testing.T) {
	url := Serve(t, http.StatusOK, map[string]string{"Content-Type": "text/html; charset=utf-8"},
		"<!doctype html><html><head><title>Sign in to "+Key+"</title></head></html>")
	e := a.fail(t.Context(), t, a.open(t, url))
	if e.Kind != model.ErrorMalformed || !strings.Contains(e.Message, `a web page instead of an answer ("Sign in to ***"); hint: check the base URL`) {
		t.Errorf("%+v", e)
	}
}

// advice tests that x-should-retry takes precedence over the status.
func (a Adapter) advice(t *testing.T) {
	for _, tt := range []struct {
		status int
		says   string
		want   bool
	}{
		{http.StatusTooManyRequests, "false", false},
		{http.StatusTooManyRequests, "true", true},
		{http.StatusTooManyRequests, "perhaps", true},
		{http.StatusBadRequest, "true", true},
		{http.StatusBadRequest, "false", false},
	} {
		url := Serve(t, tt.status, map[string]string{"X-Should-Retry": tt.says}, `{}`)
		if e := a.fail(t.Context(), t, a.open(t, url)); e.Retryable() != tt.want || e.Unavailable() != (tt.status == http.StatusTooManyRequests) {
			t.Errorf("%d with %q: %+v", tt.status, tt.says, e)
		}
	}
}

// silentServer is a server that stops responding.
type silentServer struct {
	stops stop
	says  []string      // parts of the answer
	every time.Duration // before each
	then  string        // then this part is repeated forever
}

type stop int

const (
	afterAnswer stop = iota
	beforeConnection
	beforeAnswer
)

// RoundTrip implements [http.RoundTripper].
func (s *silentServer) RoundTrip(r *http.Request) (*http.Response, error) {
	done := r.Context().Done()
	if s.stops == beforeConnection {
		<-done
		return nil, r.Context().Err()
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	if s.stops == beforeAnswer {
		<-done
		return nil, r.Context().Err()
	}
	body, w := io.Pipe()
	go func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				_ = w.CloseWithError(r.Context().Err())
				return
			case <-time.After(s.every):
			}
			switch {
			case i < len(s.says):
				_, _ = io.WriteString(w, s.says[i])
			case s.then != "":
				_, _ = io.WriteString(w, s.then)
			default:
				<-done
				_ = w.CloseWithError(r.Context().Err())
				return
			}
		}
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r,
	}, nil
}
