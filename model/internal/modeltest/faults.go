package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Adapter is what [Run] tests.
type Adapter struct {
	Open      func(url, key string) (model.Model, error)
	First     string // the first events of an answer; they contain the text "Half"
	Remaining string // events that complete the answer to "Half done"
	Ping      string // keep-alive events of the provider

	OpenWith func(url string, client *http.Client, timeouts model.Timeouts) (model.Model, error)
}

// Run tests the requirements for every adapter: errors with a hint and without the key, deltas without
// delay, and an immediate end.
func Run(t *testing.T, a Adapter) {
	t.Run("status", a.status)
	t.Run("key", a.key)
	t.Run("stream", a.stream)
	t.Run("cancel", a.cancel)
	t.Run("disconnect", a.disconnect)
	t.Run("refused", a.refused)
	t.Run("redirect", a.redirect)
	t.Run("no answer", a.noAnswer)
	t.Run("break", a.breakOff)
	t.Run("connections", a.connections)
	t.Run("silence", a.silence)
	t.Run("web page", a.webPage)
	t.Run("advice", a.advice)
}

func (a Adapter) open(t *testing.T, url string) model.Model {
	t.Helper()
	m, err := a.Open(url, Key)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fail makes a call that must fail.
func (a Adapter) fail(ctx context.Context, t *testing.T, m model.Model) *model.Error {
	t.Helper()
	var last error
	for _, err := range m.Stream(ctx, &model.Request{}) {
		last = err
	}
	var e *model.Error
	if !errors.As(last, &e) {
		t.Fatalf("error %v", last)
	}
	return e
}

func (a Adapter) status(t *testing.T) {
	for _, tt := range []struct {
		status    int
		kind      model.ErrorKind
		retryable bool
	}{
		{400, model.ErrorInvalid, false},
		{401, model.ErrorAuth, false},
		{403, model.ErrorAuth, false},
		{404, model.ErrorNotFound, false},
		{413, model.ErrorTooLong, false},
		{422, model.ErrorInvalid, false},
		{429, model.ErrorRateLimit, true},
		{500, model.ErrorOverloaded, true},
		{502, model.ErrorOverloaded, true},
		{503, model.ErrorOverloaded, true},
		{529, model.ErrorOverloaded, true},
	} {
		calls := 0
		url := ServeFunc(t, func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "11")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, `{"error":{"message":"because","type":"x"}}`)
		})
		e := a.fail(t.Context(), t, a.open(t, url))
		if e.Kind != tt.kind || e.Status != tt.status || e.Retryable() != tt.retryable || e.Message != "because" || e.RetryAfter != 11*time.Second {
			t.Errorf("%d: %+v", tt.status, e)
		}
		if calls != 1 {
			t.Errorf("%d: %d calls; retrying is the caller's", tt.status, calls)
		}
	}
}

// agent_loop-006: no error contains the key, even if the provider's response contains it.
func (a Adapter) key(t *testing.T) {
	found := false
	for _, c := range corpus.Load(t, "open-agent-sdk.json") {
		found = found || c.ID == "agent_loop-006"
	}
	if !found {
		t.Error("the corpus has no agent_loop-006")
	}
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"refused: %v %s"}}`, r.Header, r.URL)
	}
	shut := httptest.NewServer(http.NotFoundHandler())
	shut.Close()
	for _, tt := range []struct {
		name, url string
	}{
		{"echo", ServeFunc(t, echo)},
		{"echo of the address", ServeFunc(t, echo) + "/" + Key},
		{"page", Serve(t, 500, nil, "<html>"+Key+strings.Repeat(" x", 1000)+Key)},
		{"header", ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/?key="+Key, http.StatusTemporaryRedirect)
		})},
		{"refused", shut.URL + "/" + Key},
		{"refused, key in the query", shut.URL + "/?key=" + Key},
		{"refused, another key in the address", "http://user:" + Key + "@" + strings.TrimPrefix(shut.URL, "http://")},
	} {
		e := a.fail(t.Context(), t, a.open(t, tt.url))
		for err := error(e); err != nil; err = errors.Unwrap(err) {
			if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, Key) {
				t.Errorf("%s: %s", tt.name, text)
			}
		}
		if strings.Contains(e.Message, Key) {
			t.Errorf("%s: %s", tt.name, e.Message)
		}
	}
	if _, err := a.Open("http://127.0.0.1", Key+"\n"+Key); err == nil || strings.Contains(err.Error(), Key) {
		t.Errorf("a key with a line break: %v", err)
	}
	if _, err := a.Open("127.0.0.1/"+Key, Key); err == nil || strings.Contains(err.Error(), Key) {
		t.Errorf("an invalid address: %v", err)
	}
}

// agent_loop-016: text is visible before the server has sent the end of the answer.
func (a Adapter) stream(t *testing.T) {
	seen := make(chan struct{})
	m := a.open(t, a.hold(t, seen))
	var got []string
	for e, err := range m.Stream(t.Context(), &model.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case model.TextDelta:
			if got = append(got, e.Text); len(got) == 1 {
				close(seen) // the server continues only now
			}
		case model.Answer:
			got = append(got, "answer "+e.Item.Text())
		}
	}
	if text := strings.Join(got, "|"); !strings.HasPrefix(text, "Half|") || !strings.HasSuffix(text, "|answer Half done") {
		t.Error(text)
	}
}

// hold serves the first events, and serves the rest after seen is closed.
func (a Adapter) hold(t *testing.T, seen <-chan struct{}) string {
	return ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server detects a disconnect after it has read the request
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, a.First)
		w.(http.Flusher).Flush()
		select {
		case <-seen:
			_, _ = io.WriteString(w, a.Remaining)
		case <-r.Context().Done():
		}
	})
}

func (a Adapter) cancel(t *testing.T) {
	m := a.open(t, a.hold(t, nil))
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		ctx, cancel := context.WithCancel(t.Context())
		if errors.Is(cause, context.DeadlineExceeded) {
			ctx, cancel = expiring(t.Context())
		}
		var last error
		for e, err := range m.Stream(ctx, &model.Request{}) {
			if _, ok := e.(model.TextDelta); ok {
				cancel()
			}
			last = err
		}
		var e *model.Error
		if !errors.Is(last, cause) || !errors.As(last, &e) || e.Kind != model.ErrorCancelled || e.Retryable() {
			t.Fatalf("%v: %+v", cause, last)
		}
		if e.Partial == nil || e.Partial.Text() != "Half" || e.Partial.Finish != transcript.FinishCancelled {
			t.Errorf("%v: partial %+v", cause, e.Partial)
		}
		// The same applies before anything was sent.
		if e := a.fail(ctx, t, m); !errors.Is(e, cause) || e.Kind != model.ErrorCancelled || e.Partial != nil {
			t.Errorf("%v, at once: %+v", cause, e)
		}
		cancel()
	}
}

// expiring returns a context and a function that ends it. The context then has the error of an
// exceeded deadline.
func expiring(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	return expired{ctx}, cancel
}

type expired struct{ context.Context }

func (e expired) Err() error {
	if e.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

func (a Adapter) disconnect(t *testing.T) {
	url := ServeFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, a.First)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	e := a.fail(t.Context(), t, a.open(t, url))
	if e.Kind != model.ErrorNetwork || !e.Retryable() || e.Partial == nil || e.Partial.Text() != "Half" || e.Partial.Finish != transcript.FinishError {
		t.Errorf("%+v", e)
	}
	if _, err := (*e.Partial).Encode(); err != nil {
		t.Error(err)
	}
}

func (a Adapter) refused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	e := a.fail(t.Context(), t, a.open(t, "http://"+address))
	if e.Kind != model.ErrorNetwork || !e.Retryable() || e.Partial != nil || !strings.Contains(e.Message, "refused") {
		t.Errorf("%+v", e)
	}
}

// redirect checks that the key is sent only to the configured address.
func (a Adapter) redirect(t *testing.T) {
	reached := false
	other := ServeFunc(t, func(http.ResponseWriter, *http.Request) { reached = true })
	url := ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other, http.StatusPermanentRedirect)
	})
	e := a.fail(t.Context(), t, a.open(t, url))
	if reached || e.Kind != model.ErrorNotFound || !strings.Contains(e.Message, "hint: ") || !strings.Contains(e.Message, other) {
		t.Errorf("reached %v, %+v", reached, e)
	}
}

func (a Adapter) noAnswer(t *testing.T) {
	url := ServeFunc(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if e := a.fail(t.Context(), t, a.open(t, url)); e.Kind != model.ErrorNetwork || e.Partial != nil {
		t.Errorf("%+v", e)
	}
}

// breakOff checks that leaving the loop ends the call.
func (a Adapter) breakOff(t *testing.T) {
	gone := make(chan struct{})
	url := ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, a.First)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	for _, err := range a.open(t, url).Stream(t.Context(), &model.Request{}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	<-gone
}

// connections checks that consecutive calls share one connection.
func (a Adapter) connections(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, a.First+a.Remaining)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	m := a.open(t, server.URL)
	for range 5 {
		for _, err := range m.Stream(t.Context(), &model.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}
