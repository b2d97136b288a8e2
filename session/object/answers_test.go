package object_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
)

// fixedAnswer answers each request the same way.
type fixedAnswer struct {
	status int
	body   string
	header http.Header
}

func (a fixedAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: a.header,
		Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}

// The error messages if the server, or the source of the keys, does not work.
func TestOpenExplains(t *testing.T) {
	const url, secret = "s3://key:made-up-secret@bucket/x?endpoint=http://127.0.0.1:1", "made-up-secret"
	xml := func(code string) string { return "<Error><Code>" + code + "</Code><Message>because</Message></Error>" }
	behind := time.Now().Add(2 * time.Hour).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		name, url string
		answer    fixedAnswer
		kind      error
		says      string
		hint      string
	}{
		{
			"another region", url + "&region=us-west-2", fixedAnswer{301, xml("PermanentRedirect"), http.Header{"X-Amz-Bucket-Region": {"eu-west-1"}}},
			session.ErrInvalid, "the bucket is in the region eu-west-1", "set region=eu-west-1 in the URL",
		},
		{
			"sent on", url, fixedAnswer{307, "", http.Header{"Location": {"https://other.example/bucket?x"}}},
			session.ErrInvalid, "the server redirects to https://other.example", "use the server's own address as the endpoint",
		},
		{
			"a wrong clock", url, fixedAnswer{403, xml("RequestTimeTooSkewed"), http.Header{"Date": {behind}}},
			nil, "RequestTimeTooSkewed: this machine's clock is ", "correct this machine's clock",
		},
		{"a wrong secret", url, fixedAnswer{403, xml("SignatureDoesNotMatch"), nil}, nil, "because", "check the key and the secret"},
		{"old keys", url, fixedAnswer{400, xml("ExpiredToken"), nil}, nil, "ExpiredToken", "get new keys"},
		{"no right", url, fixedAnswer{403, xml("AccessDenied"), nil}, session.ErrReadOnly, "because", "s3:GetObject"},
		{"no keys", "s3://bucket/x?endpoint=http://127.0.0.1:1", fixedAnswer{403, xml("AccessDenied"), nil}, session.ErrReadOnly, "no keys were found", "AWS_ACCESS_KEY_ID"},
		{"a bucket's name", "s3://key:made-up-secret@ab/x", fixedAnswer{}, session.ErrInvalid, "a name has 3 to 63 characters", "s3://bucket/prefix"},
		{"a directory bucket", "s3://key:made-up-secret@b--use1-az4--x-s3/x", fixedAnswer{}, session.ErrInvalid, "directory buckets", "s3://bucket/prefix"},
		{"no profile", "s3://bucket/x?profile=nobody", fixedAnswer{}, session.ErrInvalid, "no keys from profile nobody: the profile does not exist", "aws configure list-profiles"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{
				"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "MINIO_ROOT_USER", "MINIO_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
				"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
			} {
				t.Setenv(name, "")
			}
			t.Setenv("HOME", t.TempDir())
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
			if c.answer.header == nil {
				c.answer.header = http.Header{}
			}
			s, err := object.Open(t.Context(), c.url, &object.Options{Transport: c.answer})
			if err == nil {
				s.Close()
				t.Fatal("it opens")
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(session.Hint(err), c.hint) || c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("%v (hint %q)", err, session.Hint(err))
			}
			if strings.Contains(err.Error()+session.Hint(err), secret) {
				t.Errorf("the secret is shown: %v", err)
			}
		})
	}
}
