// Package s3 is a client for Amazon S3 and compatible servers. It has the calls that a session
// store needs: get, conditional put, delete, list, and whether a bucket keeps versions.
//
//	client, err := s3.New(s3.Options{Bucket: "b", Endpoint: "https://minio.example:9000", Keys: keys})
//	_, err = client.Put(ctx, "key", body, s3.IfNone)
//
// It buffers whole objects, does no multipart uploads and manages no buckets. A request is sent
// again if it may not have reached the server, or if the server cannot process it now. After a put
// whose response was lost, the caller must check whether the put took effect.
//
// Source: Amazon Simple Storage Service API reference, version 2006-03-01.
package s3

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/credentials"
	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// Options configures a client: the bucket, its location and the keys.
type Options struct {
	Bucket   string
	Endpoint string // scheme and host; "" means Amazon S3 over HTTPS
	Region   string // "" means the region in the endpoint's name, or otherwise the region that the server reports
	Style    Style
	Keys     *credentials.Chain
	// Transport sends the requests; nil uses a new one. Tries is the maximum number of times that a
	// request is sent; 0 means 4.
	Transport http.RoundTripper
	Tries     int
}

// Style determines where in the URL the bucket's name is.
type Style int

// The styles. Auto uses the host name for Amazon, Google and Alibaba, and otherwise the path.
const (
	Auto Style = iota
	InPath
	InHost
)

// Client sends requests for one bucket. It is safe for concurrent use.
type Client struct {
	opt       Options
	at        endpoint
	agent     string
	http      *http.Client
	closeIdle func()

	mu     sync.Mutex
	region string
}

// New returns a client. It sends nothing.
func New(o Options) (*Client, error) {
	if err := checkBucket(o.Bucket); err != nil {
		return nil, err
	}
	at, err := parseEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if o.Region != "" && !validRegion(o.Region) {
		return nil, fmt.Errorf("%q is not a region", o.Region)
	}
	if o.Tries <= 0 {
		o.Tries = 4
	}
	c := &Client{opt: o, at: at, agent: "holdfast/" + version.Current().Version, closeIdle: func() {}, region: o.Region}
	if c.region == "" {
		c.region = at.region
	}
	if o.Transport == nil {
		made, err := transport(at.scheme == "https")
		if err != nil {
			return nil, err
		}
		o.Transport, c.closeIdle = made, made.CloseIdleConnections
	}
	c.http = &http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// CloseIdleConnections closes idle connections.
func (c *Client) CloseIdleConnections() { c.closeIdle() }

// Info is the metadata returned with an object.
type Info struct {
	ETag string    // without quotation marks
	Date time.Time // the server's clock at its response; zero if unknown
}

// call is an unsigned request.
type call struct {
	method, key string
	query       url.Values
	header      http.Header
	body        []byte
	hash        string // of body
}

// do sends a request, with retries. It returns the response if the response has one of the
// statuses. The date is the date of the last response, even if it was an error.
func (c *Client) do(ctx context.Context, a call, statuses ...int) (resp *http.Response, date time.Time, err error) {
	a.hash = sigv4.EmptyHash
	if len(a.body) > 0 {
		a.hash = sigv4.Hash(a.body)
	}
	moved := false
	for try := 1; ; try++ {
		region := c.currentRegion()
		var keys sigv4.Keys
		if keys, err = c.keys(ctx); err == nil {
			resp, err = c.send(ctx, a, keys, region)
		}
		if err == nil {
			date, _ = http.ParseTime(resp.Header.Get("Date"))
			if slices.Contains(statuses, resp.StatusCode) {
				return resp, date, nil
			}
			e := c.readError(resp, a.key, region)
			e.Unsigned = keys.ID == ""
			if e.WrongRegion && c.opt.Region == "" && !moved {
				c.setRegion(e.Region)
				moved = true
				continue
			}
			if strings.HasPrefix(e.Code, "ExpiredToken") && c.opt.Keys != nil {
				c.opt.Keys.Expired(keys)
			}
			err = e
		}
		if ctx.Err() != nil {
			return nil, date, ctx.Err()
		}
		if try >= c.opt.Tries || !worthRetrying(err) {
			return nil, date, err
		}
		if err := pause(ctx, try); err != nil {
			return nil, date, err
		}
	}
}

// keys returns the keys with which requests are signed. If the keys have no ID, requests are not
// signed.
func (c *Client) keys(ctx context.Context) (sigv4.Keys, error) {
	if c.opt.Keys == nil {
		return sigv4.Keys{}, nil
	}
	return c.opt.Keys.Get(ctx)
}

// send signs a request and sends it once.
func (c *Client) send(ctx context.Context, a call, keys sigv4.Keys, region string) (*http.Response, error) {
	var body io.Reader
	if len(a.body) > 0 {
		body = bytes.NewReader(a.body)
	}
	r, err := http.NewRequestWithContext(ctx, a.method, c.at.scheme+"://"+c.at.host(region)+"/", body)
	if err != nil {
		return nil, err
	}
	path := "/" + a.key
	if c.inHost() {
		r.URL.Host = c.opt.Bucket + "." + r.URL.Host
		r.Host = r.URL.Host
	} else {
		path = "/" + c.opt.Bucket + path
	}
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = path, sigv4.EncodePath(path), a.query.Encode()
	for name, values := range a.header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", c.agent)
	if keys.ID != "" {
		sigv4.Signer{Service: c.at.service, Region: region}.Sign(r, keys, a.hash, time.Now())
	}
	return c.http.Do(r)
}

func (c *Client) inHost() bool {
	if c.opt.Style == Auto {
		return c.at.named && (c.at.scheme != "https" || !strings.Contains(c.opt.Bucket, "."))
	}
	return c.opt.Style == InHost
}

func (c *Client) currentRegion() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.region
}

func (c *Client) setRegion(region string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.region = region
}

// worthRetrying reports whether the same request may succeed if it is sent again.
func worthRetrying(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Temporary()
	}
	if _, ok := errors.AsType[*credentials.Error](err); ok {
		return false // the search for keys has already taken long enough
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	return !errors.Is(err, http.ErrSchemeMismatch)
}
