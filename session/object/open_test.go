package object_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
)

func TestOpenRefuses(t *testing.T) {
	const secret = "made-up-" + "secret"
	for _, c := range []struct{ url, says string }{
		{"", "not an s3:// URL"},
		{"s3:bucket", "not an s3:// URL"},
		{"http://bucket/x", "not an s3:// URL"},
		{"s3:///prefix", "has no bucket"},
		{"s3://b/x#y", "has a #"},
		{"s3://b/x/../y", "the prefix has"},
		{"s3://b/x//y", "the prefix has"},
		{"s3://b/" + strings.Repeat("x", 600), "the prefix is longer"},
		{"s3://key@b/x", "needs both"},
		{"s3://key:" + secret + "@b/x?foo=1", `unknown parameter "foo"`},
		{"s3://key:" + secret + "@b/x?region=a&region=b", "duplicate parameter region"},
		{"s3://key:" + secret + "@b/x?region=", "region is empty"},
		{"s3://key:" + secret + "@b/x?profile=p", "both a key and a profile"},
		{"s3://key:" + secret + "@b/x?insecure=yes", "invalid insecure: want true or false"},
		{"s3://key:" + secret + "@b/x?insecure=true&endpoint=https://h", "contradicts"},
		{"s3://key:" + secret + "@b/x?path-style=1", "invalid path-style: want true or false"},
		{"s3://key:" + secret + "@b/x?versions=1", "want keep"},
		{"s3://key:" + secret + "@b/x?endpoint=ftp://h", "want http or https"},
		{"s3://key:" + secret + "@b/x?endpoint=http://h/path", "invalid endpoint: want a host"},
		{"s3://key:" + secret + "@bucket/x?endpoint=http://127.0.0.1:1", "cannot be reached"},
		{"s3://key:" + secret + "@b /%zz", "URL is invalid"},
		{"s3://key:33/" + secret + "@b/x", "has a colon"},
		{"s3://b/x?secret_key=" + secret, `unknown parameter "secret_key"`},
		{"s3://b/x?endpoint=https://key:" + secret + "@h", "invalid endpoint: want a host"},
	} {
		s, err := object.Open(t.Context(), c.url, nil)
		if err == nil {
			s.Close()
			t.Errorf("%s opens", c.url)
			continue
		}
		if !strings.Contains(err.Error(), c.says) || session.Hint(err) == "" {
			t.Errorf("%s: %v (hint %q), want %q", c.url, err, session.Hint(err), c.says)
		}
		if strings.Contains(err.Error()+session.Hint(err), secret) {
			t.Errorf("the secret is shown: %v", err)
		}
	}
}

func TestOpenForeignPrefix(t *testing.T) {
	url := newURL(t)
	s := open(t, url, nil)
	begin(t, s, "s", 1)
	for name, c := range map[string]struct {
		format string
		want   error
	}{
		"newer":   {`{"store":"holdfast sessions","format":2}`, session.ErrNewer},
		"foreign": {`{"store":"another","format":1}`, session.ErrInvalid},
		"no JSON": {`hello`, session.ErrInvalid},
	} {
		if err := s.Put("format.json", []byte(c.format)); err != nil {
			t.Fatal(err)
		}
		if _, err := object.Open(t.Context(), url, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := s.Get("format.json"); err != nil || string(b) != c.format {
			t.Errorf("%s: it was changed: %s %v", name, b, err)
		}
	}
	// The folder above has objects and no store in it.
	above := url[:strings.LastIndex(url, "/")]
	if i := strings.Index(url, "?"); i > 0 {
		path, query := url[:i], url[i:]
		above = path + "/sessions" + query
	}
	if _, err := object.Open(t.Context(), above, nil); !errors.Is(err, session.ErrInvalid) || session.Hint(err) == "" {
		t.Errorf("a prefix with something else in it: %v", err)
	}
	if err := s.Put("format.json", []byte(`{"store":"holdfast sessions","format":1}`+"\n")); err != nil {
		t.Fatal(err)
	}
}

// answers replaces the server's answer to some requests.
type answers func(r *http.Request) (status int, body string)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := a(r)
	if status == 0 {
		return http.DefaultTransport.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func TestOpenRefusesServers(t *testing.T) {
	url := newURL(t)
	open(t, url, nil)
	for name, c := range map[string]struct {
		answers answers
		says    string
	}{
		"no If-None-Match": {func(r *http.Request) (int, string) {
			if r.Method == http.MethodPut && r.Header.Get("If-None-Match") != "" {
				return 200, ""
			}
			return 0, ""
		}, "the server ignores If-None-Match"},
		"no If-Match": {func(r *http.Request) (int, string) {
			if r.Method == http.MethodPut && r.Header.Get("If-Match") != "" {
				return 200, ""
			}
			return 0, ""
		}, "the server ignores If-Match"},
		"versions": {func(r *http.Request) (int, string) {
			if r.Method == http.MethodGet && r.URL.Query().Has("versioning") {
				return 200, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
			}
			return 0, ""
		}, "keeps old versions"},
		"no bucket": {func(*http.Request) (int, string) { return 404, "<Error><Code>NoSuchBucket</Code></Error>" }, "no such bucket"},
		"read-only": {func(r *http.Request) (int, string) {
			if r.Method == http.MethodPut {
				return 403, "<Error><Code>AccessDenied</Code></Error>"
			}
			return 0, ""
		}, session.ErrReadOnly.Error()},
		"full": {func(r *http.Request) (int, string) {
			if r.Method == http.MethodPut {
				return 507, "<Error><Code>XMinioStorageFull</Code></Error>"
			}
			return 0, ""
		}, session.ErrFull.Error()},
	} {
		s, err := object.Open(t.Context(), url, &object.Options{Transport: c.answers})
		if err == nil {
			s.Close()
			t.Errorf("%s: it opens", name)
		} else if !strings.Contains(err.Error(), c.says) || session.Hint(err) == "" {
			t.Errorf("%s: %v (hint %q), want %q", name, err, session.Hint(err), c.says)
		}
		if name != "versions" {
			continue
		}
		s, err = object.Open(t.Context(), url+"&versions=keep", &object.Options{Transport: c.answers})
		if err != nil {
			t.Errorf("with versions=keep: %v", err)
			continue
		}
		s.Close()
	}
}

func TestOpenWithEnvironmentKeys(t *testing.T) {
	url := newURL(t)
	open(t, url, nil)
	key, rest, _ := strings.Cut(strings.TrimPrefix(url, "s3://"), "@")
	name, secret, _ := strings.Cut(key, ":")
	t.Setenv("AWS_ACCESS_KEY_ID", name)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	open(t, "s3://"+rest, nil)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	_, err := object.Open(t.Context(), "s3://"+rest, nil)
	if err == nil || !strings.Contains(session.Hint(err), "secret") {
		t.Errorf("with a wrong secret: %v, hint %q", err, session.Hint(err))
	}
}

func TestClosed(t *testing.T) {
	s := open(t, newURL(t), nil)
	a := begin(t, s, "s", 1)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, listed := s.List(ctx, session.Query{})
	_, swept := s.Sweep(ctx)
	for name, err := range map[string]error{
		"append": s.Append(ctx, "s", a.batch(a.turn("x"))), "list": listed, "sweep": swept, "delete": s.Delete(ctx, "s"),
	} {
		if !errors.Is(err, session.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, err := range s.Watch(ctx, "s", 0) {
		if !errors.Is(err, session.ErrClosed) {
			t.Errorf("watch: %v", err)
		}
	}
}
