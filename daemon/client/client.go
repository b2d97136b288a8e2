// Package client is the other end of the daemon: typed calls for everything that it
// serves over HTTP, its event streams, and its WebSocket.
//
//	Dial ─► finds socket and credential ─► Client ─┬─► Info, Sessions, Runs, Approvals, … (docs/http.md)
//	                                               ├─► Events: records from a seq on, and what happens
//	                                               └─► Socket: seed 002's messages (docs/wire.md)
//
//	c, err := client.Dial(ctx, nil)           // the daemon of $HOLDFAST_HOME
//	run, err := c.CreateRun(ctx, &client.NewRun{Cwd: dir, Input: "mend the test"})
//	for e, err := range c.Events(ctx, run.SessionID, 0) { … }
//
// It decides nothing, keeps nothing, and starts no daemon.
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
	"time"

	"github.com/holdfast-dev/holdfast/internal/version"
)

// Protocol is the version of the daemon's interface that this package speaks.
const Protocol = 1

// Client talks to one daemon. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string // "http://holdfast", without a slash at the end
	place string // for people: the socket's path, or the address
	token string
	local bool
	name  string
	info  Info
}

// Info is what a daemon is, and who it takes the caller for.
type Info struct {
	Version      string    `json:"version"`
	API          string    `json:"api"`
	Protocol     int       `json:"protocol"`
	PID          int       `json:"pid"`
	StartedAt    time.Time `json:"started_at"`
	Store        string    `json:"store"` // its URL
	Capabilities []string  `json:"capabilities"`
	Caller       Caller    `json:"caller"`
}

// Caller is who the daemon takes this client for.
type Caller struct {
	Name   string   `json:"name"`
	Via    string   `json:"via"` // unix, token or cookie
	Scopes []string `json:"scopes"`
	Agent  bool     `json:"agent"` // this process was started by a run: it may only look
}

// Info is what the daemon said of itself when it was dialled.
func (c *Client) Info() Info { return c.info }

// Place is where the daemon is: the path of its socket, or its address.
func (c *Client) Place() string { return c.place }

// Local reports whether the daemon was reached over its unix socket.
func (c *Client) Local() bool { return c.local }

// Close closes connections that nobody uses. Streams are ended by their contexts.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// bodyLimit bounds an answer, in bytes.
const bodyLimit = 64 << 20

// call sends a request and reads the answer into out, unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	_, err := c.exchange(ctx, method, path, nil, in, out)
	return err
}

// exchange is call with headers, and returns those of the answer.
func (c *Client) exchange(ctx context.Context, method, path string, head http.Header, in, out any) (http.Header, error) {
	resp, err := c.send(ctx, method, path, head, in)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	defer drain(resp.Body)
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return resp.Header, nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, bodyLimit)).Decode(out); err != nil {
		return nil, &Error{Op: method + " " + path, Place: c.place, Err: fmt.Errorf("the answer cannot be read: %w", err)}
	}
	return resp.Header, nil
}

// send sends a request. An answer that is no success is a [*Problem].
func (c *Client) send(ctx context.Context, method, path string, head http.Header, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("client: %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	maps.Copy(req.Header, head)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.sign(req.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return nil, &Error{Op: method + " " + path, Place: c.place, Err: err}
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, problemOf(resp)
	}
	return resp, nil
}

// sign adds who asks.
func (c *Client) sign(h http.Header) {
	h.Set("User-Agent", "holdfast/"+version.Release)
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
	p := &Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what could be read says what it can
	if t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && strings.HasSuffix(t, "json") {
		if json.Unmarshal(b, p) == nil {
			return p
		}
		*p = Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
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

// segment is an id as a part of a path.
func segment(id string) string { return url.PathEscape(id) }
