package s3

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/holdfast-dev/holdfast/internal/aws/credentials"
	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

func TestRanges(t *testing.T) {
	const whole = "0123456789"
	for _, c := range []struct {
		first, last  int64
		header, want string
	}{
		{0, -1, "", whole},
		{0, 3, "bytes=0-3", "0123"},
		{2, 5, "bytes=2-5", "2345"},
		{9, 9, "bytes=9-9", "9"},
		{8, 20, "bytes=8-20", "89"},
	} {
		for _, knows := range []bool{true, false} { // a server that knows no ranges sends everything
			client := newClient(t, Options{}, func(r *http.Request) *http.Response {
				if got := r.Header.Get("Range"); got != c.header {
					t.Errorf("Range %q, want %q", got, c.header)
				}
				if knows && c.header != "" {
					return answer(206, c.want)
				}
				return answer(200, whole)
			})
			got, _, err := client.Get(t.Context(), "key", c.first, c.last)
			if err != nil || string(got) != c.want {
				t.Errorf("%d to %d: %q, %v", c.first, c.last, got, err)
			}
		}
	}
	never := newClient(t, Options{}, func(*http.Request) *http.Response { t.Error("it was asked"); return nil })
	for _, c := range [][2]int64{{5, 4}, {-1, 3}, {1, -1}} {
		if _, _, err := never.Get(t.Context(), "key", c[0], c[1]); !errors.Is(err, errNoRange) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// A body that ends too early is an error, not an object.
func TestBodyBreaksOff(t *testing.T) {
	c := newClient(t, Options{}, func(*http.Request) *http.Response {
		resp := answer(200, "")
		resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errReset))), 8
		return resp
	})
	if b, _, err := c.Get(t.Context(), "key", 0, -1); !errors.Is(err, errReset) {
		t.Errorf("%q, %v", b, err)
	}
}

func listing(more string, keys ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%v</IsTruncated><NextContinuationToken>%s</NextContinuationToken>", more != "", more)
	for _, k := range keys {
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><LastModified>2026-11-28T10:00:00.1234Z</LastModified><ETag>&quot;e&quot;</ETag><Size>7</Size></Contents>", url.QueryEscape(k))
	}
	return b.String() + "</ListBucketResult>"
}

func TestListPages(t *testing.T) {
	var asked []string
	c := newClient(t, Options{}, func(r *http.Request) *http.Response {
		asked = append(asked, r.URL.RawQuery)
		if r.URL.Query().Get("continuation-token") == "" {
			return answer(200, listing("t+/=", "p/a b", "p/a+b", "p/ä%2F"))
		}
		return answer(200, listing("", "p/z"))
	})
	var got []string
	for o, err := range c.List(t.Context(), "p/", "p/a") {
		if err != nil {
			t.Fatal(err)
		}
		if o.ETag != "e" || o.Size != 7 || o.Modified.UnixMilli() != 1795860000123 || o.Modified.Nanosecond() != 123e6 {
			t.Errorf("%+v", o)
		}
		got = append(got, o.Key)
	}
	if fmt.Sprintf("%q", got) != `["p/a b" "p/a+b" "p/ä%2F" "p/z"]` {
		t.Errorf("%q", got)
	}
	const first = "encoding-type=url&list-type=2&prefix=p%2F&start-after=p%2Fa"
	if fmt.Sprint(asked) != "["+first+" continuation-token=t%2B%2F%3D&"+first+"]" {
		t.Errorf("%s", asked)
	}
}

func TestListRejects(t *testing.T) {
	for name, body := range map[string]string{
		"the same page for ever": listing("same", "p/a"),
		"no token":               "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
		"a foreign key":          listing("", "other"),
		"a key that is no key":   "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%zz</Key></Contents></ListBucketResult>",
		"a time that is no time": "<ListBucketResult><Contents><Key>p/a</Key><LastModified>yesterday</LastModified></Contents></ListBucketResult>",
		"half an answer":         listing("", "p/a")[:200],
		"not XML":                "hello",
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, Options{}, func(*http.Request) *http.Response { return answer(200, body) })
			var last error
			n := 0
			for _, err := range c.List(t.Context(), "p/", "") {
				if n++; n > 10 {
					t.Fatal("it does not end")
				}
				last = err
			}
			if last == nil {
				t.Error("no error")
			}
		})
	}
}

func TestBucketKeepsVersions(t *testing.T) {
	for body, want := range map[string]bool{
		"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>":   true,
		"<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>": false,
		"<VersioningConfiguration/>": false,
	} {
		c := newClient(t, Options{}, func(r *http.Request) *http.Response {
			if r.URL.RawQuery != "versioning=" || r.URL.Path != "/" {
				t.Errorf("asked %s", r.URL)
			}
			return answer(200, body)
		})
		if got, err := c.KeepsVersions(t.Context()); got != want || err != nil {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

// Keys of all sorts on a server that checks the signature of each request.
func TestUnusualKeysOnServer(t *testing.T) {
	c := onServer(t)
	prefix := "s3 test+" + rand.Text() + "/"
	keys := []string{
		"a", "a b", "a+b", "a%2Fb", "a%b", "ä/日本/🙂", "a..b", "a=b&c?d#e", "sessions/a!2E~'()*", "q\"<>&'", "x;y,z:@$",
	}
	for _, k := range keys {
		info, err := c.Put(t.Context(), prefix+k, "text/plain", []byte(k), IfNone)
		if err != nil {
			t.Errorf("put %q: %v", k, err)
			continue
		}
		if info.Date.IsZero() || info.ETag == "" {
			t.Errorf("put %q: %+v", k, info)
		}
		got, read, err := c.Get(t.Context(), prefix+k, 0, -1)
		if err != nil || string(got) != k || read.ETag != info.ETag {
			t.Errorf("get %q: %q, %v", k, got, err)
		}
		if _, err := c.Put(t.Context(), prefix+k, "text/plain", []byte("x"), IfNone); codeIs(err, "") {
			t.Errorf("a second %q is taken", k)
		}
		if _, err := c.Put(t.Context(), prefix+k, "text/plain", []byte(k+"2"), IfETag(info.ETag)); err != nil {
			t.Errorf("replacing %q: %v", k, err)
		}
	}
	listed := map[string]bool{}
	for o, err := range c.List(t.Context(), prefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		listed[strings.TrimPrefix(o.Key, prefix)] = true
	}
	for _, k := range keys {
		if !listed[k] {
			t.Errorf("%q is not listed", k)
		}
		if err := c.Delete(t.Context(), prefix+k); err != nil {
			t.Errorf("delete %q: %v", k, err)
		}
		if _, _, err := c.Get(t.Context(), prefix+k, 0, -1); !codeIs(err, "NoSuchKey") {
			t.Errorf("%q after its removal: %v", k, err)
		}
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if _, err := c.Put(t.Context(), prefix+"big", "text/plain", big, Condition{}); err != nil {
		t.Fatal(err)
	}
	if got, _, err := c.Get(t.Context(), prefix+"big", 16, 31); err != nil || string(got) != "0123456789abcdef" {
		t.Errorf("a range: %q, %v", got, err)
	}
	if got, _, err := c.Get(t.Context(), prefix+"big", 0, -1); err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := c.Delete(t.Context(), prefix+"big"); err != nil {
		t.Error(err)
	}
}

func codeIs(err error, code string) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok && code == "" && err == nil || ok && e.Code == code
}

func onServer(t *testing.T) *Client {
	t.Helper()
	u, err := url.Parse(os.Getenv("HOLDFAST_TEST_S3"))
	if err != nil || u.Host == "" {
		testneed.Need(t, "HOLDFAST_TEST_S3 is empty; this makes it run: eval \"$(scripts/services start s3)\"")
	}
	secret, _ := u.User.Password()
	c, err := New(Options{
		Bucket: u.Host, Endpoint: u.Query().Get("endpoint"), Keys: credentials.Static(sigv4.Keys{ID: u.User.Username(), Secret: secret}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
