//go:build linux

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// modelServer is a model server on loopback with the Messages protocol: for each run it requests a
// number of calls of `true` and then answers "done". It records the time when each request has
// arrived, and the time just before its answer is sent.
type modelServer struct {
	url string
	srv *http.Server

	mu   sync.Mutex
	runs map[string]*modelRun
}

type modelRun struct {
	calls    int // number of tool calls to request
	asked    int
	size     int64 // of the last request
	arrived  []time.Time
	answered []time.Time
	onAsk    func()
}

func newModelServer() (*modelServer, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &modelServer{url: "http://" + ln.Addr().String(), runs: map[string]*modelRun{}}
	s.srv = &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.srv.Serve(ln) }() // ends with ErrServerClosed
	return s, nil
}

// start begins a run and returns the base URL for its client.
func (s *modelServer) start(calls int, onAsk func()) (*modelRun, string) {
	r := &modelRun{calls: calls, onAsk: onAsk}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fmt.Sprint("run-", len(s.runs))
	s.runs[name] = r
	return r, s.url + "/" + name
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	size, err := io.Copy(io.Discard, req.Body)
	if err != nil {
		return
	}
	now := time.Now()
	s.mu.Lock()
	r := s.runs[name]
	s.mu.Unlock()
	if r == nil {
		http.Error(w, "unknown run", http.StatusNotFound)
		return
	}
	r.arrived = append(r.arrived, now)
	r.asked++
	r.size = size
	if r.onAsk != nil {
		r.onAsk()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.asked <= r.calls {
		writeAnswer(w, r.asked, `{"type":"tool_use","id":"toolu_%06d","name":"Bash","input":{}}`,
			`{"type":"input_json_delta","partial_json":"{\"command\":\"true\"}"}`, "tool_use")
	} else {
		writeAnswer(w, r.asked, `{"type":"text","text":""}`, `{"type":"text_delta","text":"done"}`, "end_turn")
	}
	r.answered = append(r.answered, time.Now()) // before the answer is sent, because the client may end before this function returns
	w.(http.Flusher).Flush()
}

func writeAnswer(w io.Writer, n int, block, delta, stop string) {
	if strings.Contains(block, "%") {
		block = fmt.Sprintf(block, n)
	}
	send := func(event, data string) { fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data) }
	send("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_%06d","type":"message","role":"assistant","model":"bench","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`, n))
	send("content_block_start", `{"type":"content_block_start","index":0,"content_block":`+block+`}`)
	send("content_block_delta", `{"type":"content_block_delta","index":0,"delta":`+delta+`}`)
	send("content_block_stop", `{"type":"content_block_stop","index":0}`)
	send("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":12}}`, stop))
	send("message_stop", `{"type":"message_stop"}`)
}

// gaps returns the times from each answer to the next request. Each is the time of one tool turn,
// as the model server measures it.
func (r *modelRun) gaps() []time.Duration {
	var d []time.Duration
	for i := 1; i < len(r.arrived); i++ {
		d = append(d, r.arrived[i].Sub(r.answered[i-1]))
	}
	return d
}
