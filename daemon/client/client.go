// Package client calls a daemon: typed calls for everything that it serves over HTTP, and its
// event streams. The types are those of package daemon/api.
//
//	Dial ─► finds socket and credential ─► Client ─┬─► Info, Sessions, Runs, Approvals, … (docs/reference/http.md)
//	                                               ├─► Start, Resume, Fork, Attach ─► Run ─► Events, Send, Answer, Wait, …
//	                                               └─► Events: records from a seq on, then live
//
//	c, err := client.Dial(ctx, nil)           // the daemon of $HOLDFAST_HOME
//	run, err := c.Start(ctx, runspec.Spec{Cwd: dir, Prompt: "fix the test"})
//	for e, err := range run.Events(ctx, 0) { … }
//	result, err := run.Wait(ctx)
//
// It decides nothing, stores nothing, and starts no daemon.
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

// protocol is the version of the daemon's interface that this package speaks.
const protocol = 1

// Client talks to one daemon. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string // "http://holdfast", without a slash at the end
	place string // for people: the socket's path, or the address
	token string
	local bool
	name  string
	info  api.Info
}

// Info is what the daemon said of itself when it was dialled.
func (c *Client) Info() api.Info { return c.info }

// Address is where the daemon is: the path of its socket, or its address.
func (c *Client) Address() string { return c.place }

// Local reports whether the daemon was reached over its unix socket.
func (c *Client) Local() bool { return c.local }

// Close closes connections that nobody uses. Streams are ended by their contexts.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// bodyLimit bounds an answer, in bytes.
const bodyLimit = 64 << 20

// request is a request to one of the routes of package api.
type request struct {
	op     string   // the route's ID
	path   []string // values of the wildcards in its path
	query  string   // as [query] makes it
	header http.Header
	body   any
}

// do sends a request and returns the answer.
func do[T any](ctx context.Context, c *Client, r request) (*T, error) {
	out := new(T)
	if err := c.call(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

// call sends a request and reads the answer into out, unless that is nil.
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
		return &Error{Op: r.op, Address: c.place, Err: fmt.Errorf("the answer cannot be read: %w", err)}
	}
	return nil
}

// send sends a request. An answer that is no success is an [*api.Problem].
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	route, ok := routes.Lookup(r.op)
	if !ok {
		return nil, fmt.Errorf("client: there is no route %q", r.op)
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
	c.sign(req.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return nil, &Error{Op: route.Method + " " + path, Address: c.place, Err: err}
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, problemOf(resp)
	}
	return resp, nil
}

// sign adds who asks.
func (c *Client) sign(h http.Header) {
	h.Set("User-Agent", "holdfast/"+version.Current().Version)
	if c.name != "" {
		h.Set("X-Holdfast-Client", c.name)
	}
	if c.token != "" {
		h.Set("Authorization", "Bearer "+c.token)
	}
}

// drain lets the connection be used again.
func drain(body io.Reader) {
	_, _ = io.Copy(io.Discard, io.LimitReader(body, 64<<10))
}

func problemOf(resp *http.Response) error {
	p := &api.Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what could be read says what it can
	if t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && strings.HasSuffix(t, "json") {
		if json.Unmarshal(b, p) == nil {
			return p
		}
		*p = api.Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	}
	p.Detail = strings.TrimSpace(string(b[:min(len(b), 500)]))
	return p
}

// query makes the end of a path of pairs of names and values; empty values are left out.
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
