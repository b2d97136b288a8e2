// Package oracle compares what the models send and read with what the providers' own
// SDKs send and read: the same request to the same server, the same answer from it.
package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// server answers every request with the same events and keeps what it was sent.
type server struct {
	*httptest.Server
	path   string
	header http.Header
	body   []byte
}

func serve(t *testing.T, events string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.path, s.header = r.URL.Path, r.Header
		s.body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events)
	}))
	t.Cleanup(s.Close)
	return s
}

// clientForAnyHost returns a client that reaches the server whatever address it is given: a model
// sends the newest form of a request to its provider's own address only.
func (s *server) clientForAnyHost() *http.Client {
	return &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
		req.URL.Scheme, req.URL.Host = "http", s.Listener.Addr().String()
		return http.DefaultTransport.RoundTrip(req)
	})}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// sent is what a client sent: where to, the headers that both clients should have, and the body.
type sent struct {
	Path   string
	Header map[string]string
	Body   map[string]any
}

func (s *server) sent(t *testing.T, headers ...string) sent {
	t.Helper()
	out := sent{Path: s.path, Header: map[string]string{}}
	for _, name := range headers {
		out.Header[name] = s.header.Get(name)
	}
	if err := json.NewDecoder(bytes.NewReader(s.body)).Decode(&out.Body); err != nil {
		t.Fatalf("%v in %s", err, s.body)
	}
	return out
}

// conversation is the session that both clients tell, encoded by the model.
func conversation(t *testing.T, m model.Model, items ...transcript.Item) []model.EncodedItem {
	t.Helper()
	var all []model.EncodedItem
	for _, it := range items {
		wire, err := m.Encode(it.MustEncode())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, wire)
	}
	return all
}

// answer sends a request and returns the text of the answer.
func answer(t *testing.T, m model.Model, req *model.Request) string {
	t.Helper()
	for e, err := range m.Stream(context.Background(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := e.(model.Answer); ok {
			return a.Item.Text()
		}
	}
	t.Fatal("no answer")
	return ""
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the SDK (-) and the model (+) differ:\n%s", diff)
	}
}

var readTool = model.ToolSpec{
	Name: "Read", Description: "reads",
	Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
}
