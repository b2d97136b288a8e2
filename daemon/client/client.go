// Package client is a Go client of the daemon's HTTP API and event streams. Its types are those of
// package daemon/api.
//
//	Dial ─► finds socket and credential ─► Client ─┬─► Info, Sessions, Runs, Approvals, … (docs/reference/http.md)
//	                                               ├─► Start, Resume, Fork, Attach ─► Run ─► Events, Send, Answer, Wait, …
//	                                               └─► Events: records after a seq, then live events
//
//	c, err := client.Dial(ctx, nil)           // the daemon of $HOLDFAST_HOME
//	run, err := c.Start(ctx, runspec.Spec{Cwd: dir, Prompt: "fix the test"})
//	for e, err := range run.Events(ctx, 0) { … }
//	result, err := run.Wait(ctx)
//
// The package makes no decisions, stores nothing, and does not start a daemon.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// protocol is the version of the daemon's API that this package supports.
const protocol = 1

// Client is a connection to one daemon. It is safe for concurrent use.
type Client struct {
	http    *http.Client
	base    string // "http://holdfast", without a slash at the end
	address string // for messages: the socket's path, or the address
	token   string
	local   bool
	name    string
	info    api.Info
}

// Info returns the description that the daemon sent when Dial connected.
func (c *Client) Info() api.Info { return c.info }

// Address returns the path of the daemon's socket, or its URL.
func (c *Client) Address() string { return c.address }

// Local reports whether the daemon was reached over its unix socket.
func (c *Client) Local() bool { return c.local }

// Close closes idle connections. Streams end with their contexts.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// bodyLimit is the maximum size of an answer, in bytes.
const bodyLimit = 64 << 20

// request is a request of one of the daemon's routes.
type request struct {
	op     string   // the route's ID
	path   []string // values of the wildcards in its path
	query  string   // from [query]
	header http.Header
	body   any
}

// do sends a request and decodes the answer.
func do[T any](ctx context.Context, c *Client, r request) (*T, error) {
	out := new(T)
	if err := c.call(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

// call sends a request and decodes the answer into out, unless out is nil.
func (c *Client) call(ctx context.Context, r request, out any) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	defer drain(resp.Body)
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, bodyLimit)).Decode(out); err != nil {
		return &Error{Op: r.op, Address: c.address, Err: fmt.Errorf("cannot decode the answer: %w", err)}
	}
	return nil
}

// send sends a request. An unsuccessful answer is returned as an [*api.Problem].
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	route, ok := routes.Lookup(r.op)
	if !ok {
		return nil, fmt.Errorf("client: unknown route %q", r.op)
	}
	path := route.URL(r.path...) + r.query
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("client: %s %s: %w", route.Method, path, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, route.Method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	maps.Copy(req.Header, r.header)
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.authorize(req.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return nil, &Error{Op: route.Method + " " + path, Address: c.address, Err: err}
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, problemOf(resp)
	}
	return resp, nil
}

// authorize adds the credential.
func (c *Client) authorize(h http.Header) {
	h.Set("User-Agent", "holdfast/"+version.Current().Version)
	if c.name != "" {
		h.Set("X-Holdfast-Client", c.name)
	}
	if c.token != "" {
		h.Set("Authorization", "Bearer "+c.token)
	}
}

// drain reads the rest of a body, so that the connection can be reused.
func drain(body io.Reader) {
	_, _ = io.Copy(io.Discard, io.LimitReader(body, 64<<10))
}

func problemOf(resp *http.Response) error {
	p := &api.Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // decode the part that could be read
	if t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && strings.HasSuffix(t, "json") {
		if json.Unmarshal(b, p) == nil {
			return p
		}
		*p = api.Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	}
	p.Detail = strings.TrimSpace(string(b[:min(len(b), 500)]))
	return p
}

// query returns the query part of a URL for pairs of names and values. Empty values are omitted.
func query(pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
