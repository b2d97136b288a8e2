package oracle

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// engineRequest is a request as an engine receives it.
type engineRequest struct {
	method, path string
	query        url.Values
	kind, body   string
}

// engineServer answers every request alike, and keeps the requests.
type engineServer struct {
	host string

	mu      sync.Mutex
	version string
	status  int
	answers map[string]string // by the last part of the path; "" for all others
	kind    string
	process func(conn net.Conn, input *bufio.Reader) // handles the connection of a stream
	log     []engineRequest
}

func newEngineServer(t *testing.T) *engineServer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &engineServer{host: "unix://" + path, version: "1.44", status: http.StatusOK, kind: "application/json", answers: map[string]string{"": "{}"}}
	srv := &http.Server{Handler: s}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return s
}

func (s *engineServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != "" {
		w.Header().Set("Api-Version", s.version)
	}
	if r.URL.Path == "/_ping" {
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.log = append(s.log, engineRequest{r.Method, r.URL.EscapedPath(), r.URL.Query(), r.Header.Get("Content-Type"), string(body)})
	if r.Header.Get("Upgrade") == "tcp" && s.process != nil {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
			s.process(conn, rw.Reader)
			_ = conn.Close()
		}
		return
	}
	answer, ok := s.answers[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
	if !ok {
		answer = s.answers[""]
	}
	if s.kind != "" {
		w.Header().Set("Content-Type", s.kind)
	}
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, answer)
}

// taken returns the requests since the last call.
func (s *engineServer) taken() []engineRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

func (s *engineServer) set(change func(s *engineServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// both connects the engine client and Docker's.
func both(t *testing.T, s *engineServer) (*engine.Engine, *client.Client) {
	t.Helper()
	holdfast, err := engine.Connect(t.Context(), s.host)
	if err != nil {
		t.Fatal(err)
	}
	official, err := client.New(client.WithHost(s.host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(holdfast.Close(), official.Close()) })
	return holdfast, official
}

// sameBody compares two bodies as Docker's own types read them.
func sameBody(t *testing.T, path, holdfast, official string) {
	t.Helper()
	var a, b any
	switch {
	case strings.HasSuffix(path, "/containers/create"):
		a, b = &container.CreateRequest{}, &container.CreateRequest{}
	case strings.HasSuffix(path, "/exec"):
		a, b = &container.ExecCreateRequest{}, &container.ExecCreateRequest{}
	case strings.HasSuffix(path, "/start") && strings.Contains(path, "/exec/"):
		a, b = &container.ExecStartRequest{}, &container.ExecStartRequest{}
	default:
		if holdfast != official {
			t.Errorf("%s: the body is %q, Docker's client sends %q", path, holdfast, official)
		}
		return
	}
	if err := errors.Join(json.Unmarshal([]byte(holdfast), a), json.Unmarshal([]byte(official), b)); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: the body is\n%s\nDocker's client sends\n%s", path, holdfast, official)
	}
}

func sameRequests(t *testing.T, holdfast, official []engineRequest) {
	t.Helper()
	if len(holdfast) != len(official) {
		t.Fatalf("%d requests, Docker's client sends %d: %+v, %+v", len(holdfast), len(official), holdfast, official)
	}
	for i, a := range holdfast {
		b := official[i]
		sameBody(t, a.path, a.body, b.body)
		if a.body, b.body = "", ""; !reflect.DeepEqual(a, b) {
			t.Errorf("asked is %+v, by Docker's client %+v", a, b)
		}
	}
}

func labelled(labels map[string]string) client.Filters {
	f := client.Filters{}
	for k, v := range labels {
		f.Add("label", k+"="+v)
	}
	return f
}

func frames(kind byte, text string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind, 0, 0, 0}, uint32(len(text)))) + text
}
