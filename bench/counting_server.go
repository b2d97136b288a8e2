//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// countingServer is a model server for Anthropic's protocol that answers with a text and counts what it
// receives, separately for each way of running turns: the first part of the path names the way.
//
// Caching follows the rules of Anthropic's server. A request may mark positions with cache_control,
// and everything before a mark is cached. A later request uses the longest cached prefix that ends
// at one of its own marks, or at one of the twenty blocks before such a mark. Nothing expires, and
// nothing is too small to be cached.
type countingServer struct {
	srv    *httptest.Server
	answer string

	mu       sync.Mutex
	counts   map[string]*counted
	prefixes map[string]map[[32]byte]bool // cached prefixes, for each way of running turns
}

// counted has the totals of several requests.
type counted struct {
	requests int
	bytes    int // of their bodies
	all      int // tokens
	fresh    int // tokens that were not read from the cache
}

func (c counted) minus(o counted) counted {
	return counted{c.requests - o.requests, c.bytes - o.bytes, c.all - o.all, c.fresh - o.fresh}
}

// newCountingServer listens on an address that the containers' proxy can reach: the proxy does not
// connect to this machine's loopback address.
func newCountingServer(answer string) (*countingServer, error) {
	host, err := externalAddress()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	c := &countingServer{answer: answer, counts: map[string]*counted{}, prefixes: map[string]map[[32]byte]bool{}}
	c.srv = &httptest.Server{Listener: l, Config: &http.Server{Handler: c}}
	c.srv.Start()
	return c, nil
}

// externalAddress returns an address of this machine that is not a loopback address, or "".
func externalAddress() (string, error) {
	addrs, err := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String(), nil
		}
	}
	return "", err
}

// countsOf returns the current counts for one way of running turns.
func (c *countingServer) countsOf(way string) counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[way] == nil {
		return counted{}
	}
	return *c.counts[way]
}

func (c *countingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	way, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if err != nil || r.Method != http.MethodPost || path != "v1/messages" {
		http.NotFound(w, r)
		return
	}
	var ask countedRequest
	if err := json.Unmarshal(body, &ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	u := c.count(way, &ask, len(body))
	message := map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": ask.Model, "content": []any{}, "stop_reason": nil, "usage": u,
	}
	if !ask.Stream {
		message["content"], message["stop_reason"] = []any{map[string]any{"type": "text", "text": c.answer}}, "end_turn"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message) // writing fails if the client has ended
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range []map[string]any{
		{"type": "message_start", "message": message},
		{"type": "content_block_start", "index": 0, "content_block": map[string]any{"type": "text", "text": ""}},
		{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": c.answer}},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": map[string]any{"stop_reason": "end_turn"}, "usage": map[string]int{"output_tokens": tokens(len(c.answer))}},
		{"type": "message_stop"},
	} {
		b, _ := json.Marshal(e) // it cannot fail: the value has only maps, texts and numbers
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], b)
	}
}

// countedRequest is the part of a request that is counted.
type countedRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	System   json.RawMessage   `json:"system"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// block is a part of a request that is cached as a whole.
type block struct {
	text []byte // without the mark
	mark bool
}

// blocks returns the parts of a request that a model reads, in the order in which they are cached.
func (a *countedRequest) blocks() []block {
	var list []block
	for _, t := range a.Tools {
		list = append(list, blocksOf("tool", t)...)
	}
	list = append(list, blocksOf("system", a.System)...)
	for _, m := range a.Messages {
		list = append(list, blocksOf(m.Role, m.Content)...)
	}
	return list
}

// blocksOf reads a text, a block or a list of blocks.
func blocksOf(role string, raw json.RawMessage) []block {
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) == nil {
		var list []block
		for _, one := range many {
			list = append(list, blocksOf(role, one)...)
		}
		return list
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil { // a text
		return []block{{text: append([]byte(role), raw...)}}
	}
	_, mark := fields["cache_control"]
	delete(fields, "cache_control")
	text, _ := json.Marshal(fields) // the keys are sorted; it cannot fail, because the values were read as JSON
	return []block{{append([]byte(role), text...), mark}}
}

// usage is the usage that the server reports for a request.
type usage struct {
	Input  int `json:"input_tokens"`
	Wrote  int `json:"cache_creation_input_tokens"`
	Read   int `json:"cache_read_input_tokens"`
	Output int `json:"output_tokens"`
}

// lookBack is the number of blocks before a mark at which a cached prefix may end.
const lookBack = 20

// count counts a request, and caches its marked prefixes.
func (c *countingServer) count(way string, a *countedRequest, size int) usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[way] == nil {
		c.counts[way], c.prefixes[way] = &counted{}, map[[32]byte]bool{}
	}
	all, found, marked := c.find(way, a)
	u := usage{Read: found, Wrote: max(marked-found, 0), Output: 1}
	u.Input = all - u.Read - u.Wrote
	n := c.counts[way]
	n.requests, n.bytes, n.all, n.fresh = n.requests+1, n.bytes+size, n.all+all, n.fresh+all-found
	return u
}

// find returns three token counts of a request: all of it, its cached prefix, and its marked
// prefix.
func (c *countingServer) find(way string, a *countedRequest) (all, found, marked int) {
	var prefix bytes.Buffer
	prefix.WriteString(a.Model)
	kept, list := c.prefixes[way], a.blocks()
	sums, sizes := make([][32]byte, len(list)), make([]int, len(list))
	for i, b := range list {
		sums[i] = sha256.Sum256(append(prefix.Bytes(), b.text...))
		prefix.Reset()
		prefix.Write(sums[i][:])
		all += tokens(len(b.text))
		sizes[i] = all
	}
	for i, b := range list {
		if !b.mark {
			continue
		}
		marked = sizes[i]
		for j := i; j >= 0 && i-j <= lookBack; j-- {
			if kept[sums[j]] {
				found = max(found, sizes[j])
				break
			}
		}
	}
	for i, b := range list {
		if b.mark {
			kept[sums[i]] = true
		}
	}
	return all, found, marked
}
