package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// maxBody is the maximum length of a response that is read, in bytes.
const maxBody = 1 << 20

// post runs an HTTP hook.
func (c *Commands) post(ctx context.Context, d *Definition, in *Input) (RunResult, error) {
	if err := c.mayReach(d.URL); err != nil {
		return RunResult{}, err
	}
	body, err := in.wire(dialectOf(d))
	if err != nil {
		return RunResult{}, fmt.Errorf("write its input: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return RunResult{}, err
	}
	vars, notices := c.allowedVars(d)
	req.Header.Set("Content-Type", "application/json")
	for name, value := range d.Headers {
		value = expand(value, vars)
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	text, err := c.exchange(req)
	if err != nil {
		if ctx.Err() != nil {
			err = endedEarly(ctx.Err(), d.Timeout)
		}
		return RunResult{Notice: join(notices)}, err
	}
	if len(text) == 0 {
		return RunResult{Notice: join(notices)}, nil
	}
	if !isObject(text) {
		return RunResult{Notice: join(notices)}, errors.New("the response is not a JSON object")
	}
	out, more, err := decodeOutput(dialectOf(d), in.Event, text)
	a := RunResult{Output: out, Notice: join(append(notices, more...))}
	if err != nil {
		a.Output = nil
		return a, fmt.Errorf("the response is invalid: %w", err)
	}
	return a, nil
}

// exchange sends a request and returns the body of a successful response.
func (c *Commands) exchange(req *http.Request) ([]byte, error) {
	resp, err := c.client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // the URL may contain a token
		}
		return nil, fmt.Errorf("call %s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		err := fmt.Errorf("%s answered %s", req.URL.Host, resp.Status)
		if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
			err = fmt.Errorf("%w; redirects are not followed", err)
		}
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	if len(text) > maxBody {
		return nil, fmt.Errorf("the response is longer than %d bytes", maxBody)
	}
	return bytes.TrimSpace(text), nil
}

// newClient returns a copy of base, or a client without a proxy, that follows no redirects.
func newClient(base *http.Client) *http.Client {
	c := &http.Client{}
	if base != nil {
		*c = *base
	} else {
		c.Transport = &http.Transport{
			DialContext: dial, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
		}
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// dial connects. localhost is always this machine's loopback address, whatever a resolver returns.
func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	host, port, err := net.SplitHostPort(addr)
	if err != nil || !isLocalhost(host) {
		return d.DialContext(ctx, network, addr)
	}
	conn, err := d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		if six, err6 := d.DialContext(ctx, network, net.JoinHostPort("::1", port)); err6 == nil {
			return six, nil
		}
	}
	return conn, err
}

// expand replaces "$NAME" and "${NAME}" by the values of variables. A variable that is not in vars,
// because it is not set or the hook may not have it, becomes empty.
func expand(text string, vars map[string]string) string {
	return headerVariable().ReplaceAllStringFunc(text, func(ref string) string {
		m := headerVariable().FindStringSubmatch(ref)
		return vars[m[1]+m[2]]
	})
}
