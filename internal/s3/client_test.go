package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/credentials"
	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// server answers requests without a network; nil is a broken connection.
type server func(r *http.Request) *http.Response

var errReset = errors.New("connection reset by peer")

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	if resp := s(r); resp != nil {
		resp.Request = r
		return resp, nil
	}
	return nil, errReset
}

// answer is an answer with headers, each "Name: value".
func answer(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	return &http.Response{
		Status: fmt.Sprint(status, " ", http.StatusText(status)), StatusCode: status, ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// repeatable is an answer that can be given more than once.
func repeatable(resp *http.Response) func() *http.Response {
	body, _ := io.ReadAll(resp.Body)
	return func() *http.Response {
		next := *resp
		next.Body = io.NopCloser(strings.NewReader(string(body)))
		return &next
	}
}

func errorXML(code string) string {
	return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>because</Message><RequestId>r-1</RequestId></Error>"
}

var testKeys = credentials.Static(sigv4.Keys{ID: "id", Secret: "made up"})

func newClient(t testing.TB, o Options, s server) *Client {
	t.Helper()
	if o.Bucket == "" {
		o.Bucket = "bucket"
	}
	o.Transport, o.Keys = s, testKeys
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRetriedRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer *http.Response
		tries  int
	}{
		{"no connection", nil, 4},
		{"busy", answer(503, errorXML("SlowDown")), 4},
		{"too many", answer(429, ""), 4},
		{"internal", answer(500, errorXML("InternalError")), 4},
		{"no gateway", answer(502, "<html>"), 4},
		{"body came too slowly", answer(400, errorXML("RequestTimeout")), 4},
		{"expired token", answer(400, errorXML("ExpiredToken")), 4},
		{"denied", answer(403, errorXML("AccessDenied")), 1},
		{"not there", answer(404, errorXML("NoSuchKey")), 1},
		{"another was first", answer(412, errorXML("PreconditionFailed")), 1},
		{"both at once", answer(409, errorXML("ConditionalRequestConflict")), 1},
		{"not known", answer(501, errorXML("NotImplemented")), 1},
		{"full", answer(507, errorXML("XMinioStorageFull")), 1},
		{"wrong clock", answer(403, errorXML("RequestTimeTooSkewed")), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries, give := 0, func() *http.Response { return nil }
				if c.answer != nil {
					give = repeatable(c.answer)
				}
				client := newClient(t, Options{}, func(r *http.Request) *http.Response {
					tries++
					if b, err := io.ReadAll(r.Body); err != nil || string(b) != "body" {
						t.Errorf("try %d has the body %q, %v", tries, b, err)
					}
					return give()
				})
				began := time.Now()
				_, err := client.Put(t.Context(), "key", "text/plain", []byte("body"), IfNone)
				if err == nil || tries != c.tries {
					t.Errorf("%d tries, want %d; %v", tries, c.tries, err)
				}
				if time.Since(began) > 1400*time.Millisecond {
					t.Errorf("it took %v", time.Since(began))
				}
				if e, ok := errors.AsType[*Error](err); ok != (c.answer != nil) || ok && e.Status != c.answer.StatusCode {
					t.Errorf("the error is %#v", err)
				}
			})
		})
	}
}

// The answer to a put was lost. The caller gets the answer to the second one and must check.
func TestPutAnswerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := false
		c := newClient(t, Options{}, func(r *http.Request) *http.Response {
			if r.Header.Get("If-None-Match") != "*" {
				t.Errorf("headers %v", r.Header)
			}
			if there {
				return answer(412, errorXML("PreconditionFailed"), "Date: Sat, 28 Nov 2026 10:00:00 GMT")
			}
			there = true
			return nil
		})
		info, err := c.Put(t.Context(), "key", "text/plain", []byte("x"), IfNone)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code != "PreconditionFailed" || e.Unsigned || e.RequestID != "r-1" {
			t.Errorf("%v", err)
		}
		if want := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC); !info.Date.Equal(want) {
			t.Errorf("the date of the refusal is %v", info.Date)
		}
	})
}

func TestContextEndsTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		tries := 0
		c := newClient(t, Options{Tries: 100}, func(*http.Request) *http.Response {
			if tries++; tries == 3 {
				stop()
			}
			return answer(503, "")
		})
		if _, _, err := c.Get(ctx, "key", 0, -1); !errors.Is(err, context.Canceled) || tries != 3 {
			t.Errorf("%d tries: %v", tries, err)
		}
		ctx, stop = context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if err := c.Delete(ctx, "key"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// If a bucket is in another region, that region is used, unless the URL sets one. Requests
// never go to a host named by an answer.
func TestOtherRegions(t *testing.T) {
	const region = "X-Amz-Bucket-Region: eu-central-1"
	for _, c := range []struct {
		name   string
		answer *http.Response
	}{
		{"permanent redirect", answer(301, errorXML("PermanentRedirect"), region, "Location: https://evil.example/")},
		{"temporary redirect", answer(307, errorXML("TemporaryRedirect"), region, "Location: https://evil.example/")},
		{"redirect without a text", answer(301, "", region)},
		{"authorization", answer(400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-central-1</Region></Error>")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var hosts []string
			give := repeatable(c.answer)
			serve := func(r *http.Request) *http.Response {
				hosts = append(hosts, r.URL.Host)
				if r.URL.Host == "bucket.s3.dualstack.eu-central-1.amazonaws.com" {
					if !strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/s3/aws4_request") {
						t.Errorf("signed for another region: %s", r.Header.Get("Authorization"))
					}
					return answer(204, "")
				}
				return give()
			}
			found := newClient(t, Options{}, serve)
			for range 2 {
				if err := found.Delete(t.Context(), "key"); err != nil {
					t.Fatal(err)
				}
			}
			if got := fmt.Sprint(hosts); got != "[bucket.s3.dualstack.us-east-1.amazonaws.com bucket.s3.dualstack.eu-central-1.amazonaws.com bucket.s3.dualstack.eu-central-1.amazonaws.com]" {
				t.Errorf("asked %s", got)
			}
			hosts = nil
			err := newClient(t, Options{Region: "us-west-2"}, serve).Delete(t.Context(), "key")
			if e, ok := errors.AsType[*Error](err); !ok || !e.WrongRegion || e.Region != "eu-central-1" || len(hosts) != 1 {
				t.Errorf("with a region: %v after %v", err, hosts)
			}
		})
	}
	// A server that names one region after the other, or none that can be one.
	n := 0
	c := newClient(t, Options{}, func(*http.Request) *http.Response {
		n++
		return answer(301, "", fmt.Sprintf("X-Amz-Bucket-Region: r-%d", n))
	})
	if err := c.Delete(t.Context(), "key"); err == nil || n != 2 {
		t.Errorf("%d requests: %v", n, err)
	}
	c = newClient(t, Options{}, func(*http.Request) *http.Response {
		return answer(301, "", "X-Amz-Bucket-Region: evil.example/", "Location: https://other.example/x")
	})
	if e, ok := errors.AsType[*Error](c.Delete(t.Context(), "key")); !ok || e.Region != "" || e.Location != "https://other.example/x" {
		t.Errorf("%#v", e)
	}
}

func TestErrorsWithoutXML(t *testing.T) {
	for _, c := range []struct {
		status        int
		key, body     string
		code, message string
	}{
		{404, "key", "", "NoSuchKey", "the server returned NoSuchKey"},
		{404, "", "", "NoSuchBucket", "the server returned NoSuchBucket"},
		{403, "key", "", "AccessDenied", "the server returned AccessDenied"},
		{412, "key", "", "PreconditionFailed", "the server returned PreconditionFailed"},
		{418, "key", "I am a teapot", "418 I'm a teapot", "I am a teapot"},
		{418, "key", "<html>a proxy's page</html>", "418 I'm a teapot", "the server returned 418 I'm a teapot"},
		{418, "key", strings.Repeat("x", 9000), "418 I'm a teapot", strings.Repeat("x", 500) + "…"},
	} {
		e := newClient(t, Options{}, nil).readError(answer(c.status, c.body), c.key, "r")
		if e.Code != c.code || e.Error() != c.message {
			t.Errorf("%d %q: code %q, %q", c.status, c.body, e.Code, e.Error())
		}
	}
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(20 * time.Minute).UTC().Format(http.TimeFormat)
		e := newClient(t, Options{}, nil).readError(answer(403, errorXML("RequestTimeTooSkewed"), "Date: "+date), "key", "r")
		if e.Skew != 20*time.Minute {
			t.Errorf("the clocks differ by %v", e.Skew)
		}
	})
}

// Without keys, requests are not signed.
func TestUnsigned(t *testing.T) {
	c, err := New(Options{Bucket: "bucket", Transport: server(func(r *http.Request) *http.Response {
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Amz-Date") != "" {
			t.Errorf("headers %v", r.Header)
		}
		return answer(403, errorXML("AccessDenied"))
	})})
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := errors.AsType[*Error](c.Delete(t.Context(), "key")); !ok || !e.Unsigned {
		t.Errorf("%+v", e)
	}
}

func TestHeaders(t *testing.T) {
	c := newClient(t, Options{}, func(r *http.Request) *http.Response {
		for name, want := range map[string]string{
			"If-Match": `"abc"`, "Content-Type": "application/jsonl",
			"X-Amz-Content-Sha256": sigv4.Hash([]byte("body")),
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if agent := r.Header.Get("User-Agent"); !strings.HasPrefix(agent, "holdfast/") {
			t.Errorf("User-Agent %q", agent)
		}
		if r.ContentLength != 4 || r.GetBody == nil {
			t.Errorf("a body of %d bytes", r.ContentLength)
		}
		return answer(200, "", `ETag: "def"`)
	})
	info, err := c.Put(t.Context(), "key", "application/jsonl", []byte("body"), IfETag("abc"))
	if err != nil || info.ETag != "def" || !info.Date.IsZero() {
		t.Errorf("%+v, %v", info, err)
	}
}
