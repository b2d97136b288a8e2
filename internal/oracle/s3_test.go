package oracle

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	minioCredentials "github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/holdfast-dev/holdfast/internal/aws/credentials"
	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
	"github.com/holdfast-dev/holdfast/internal/s3"
)

// recorder records requests and answers minimally.
type recorder struct{ last []string }

func (c *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	c.last = []string{r.Method + " " + r.URL.Scheme + "://" + r.URL.Host + r.URL.RequestURI()}
	for _, name := range []string{"Range", "If-Match", "If-None-Match", "Content-Type"} {
		if v := r.Header.Get(name); v != "" {
			c.last = append(c.last, name+": "+v)
		}
	}
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "/")
	scope, _, _ = strings.Cut(scope, ",")
	c.last = append(c.last, scope)
	status, body := http.StatusOK, ""
	switch {
	case r.Method == http.MethodDelete:
		status = http.StatusNoContent
	case r.URL.Query().Has("versioning"):
		body = "<VersioningConfiguration/>"
	}
	return &http.Response{
		StatusCode: status, Request: r, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Last-Modified": {"Sat, 28 Nov 2026 10:00:00 GMT"}, "Etag": {`"e"`}},
	}, nil
}

// Both clients send requests to the same hosts and paths, with the same conditions.
func TestRequestsLikeMinIO(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		endpoint, region, bucket string
		style                    s3.Style
	}{
		{"https://s3.amazonaws.com", "us-east-1", "bucket", s3.Auto},
		{"https://s3.amazonaws.com", "eu-central-1", "bucket", s3.Auto},
		{"https://s3.amazonaws.com", "cn-north-1", "bucket", s3.Auto},
		{"https://s3.amazonaws.com", "us-iso-east-1", "bucket", s3.Auto},
		{"https://s3.amazonaws.com", "us-east-1", "dotted.bucket", s3.Auto},
		{"http://s3.amazonaws.com", "us-east-1", "dotted.bucket", s3.Auto},
		{"https://s3.amazonaws.com", "us-east-1", "bucket", s3.InPath},
		{"https://s3.eu-west-1.amazonaws.com", "eu-west-1", "bucket", s3.Auto},
		{"https://s3-eu-west-1.amazonaws.com", "eu-west-3", "bucket", s3.Auto},
		{"https://s3-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1", "bucket", s3.Auto},
		{"https://s3-fips.dualstack.us-east-1.amazonaws.com", "us-east-1", "bucket", s3.Auto},
		{"https://bucket.vpce-1a2b-3c4d.s3.us-east-2.vpce.amazonaws.com", "us-east-2", "bucket", s3.Auto},
		{"https://x.s3-outposts.us-west-2.amazonaws.com", "us-west-2", "bucket", s3.Auto},
		{"https://storage.googleapis.com", "auto", "bucket", s3.Auto},
		{"https://oss-cn-hangzhou.aliyuncs.com", "oss-cn-hangzhou", "bucket", s3.Auto},
		{"https://acct.r2.cloudflarestorage.com", "auto", "bucket", s3.Auto},
		{"https://minio.example:9000", "us-east-1", "bucket", s3.InHost},
		{"http://127.0.0.1:80", "us-east-1", "bucket", s3.Auto},
		{"http://[::1]:9000", "us-east-1", "bucket", s3.Auto},
	} {
		holdfast, official := &recorder{}, &recorder{}
		client, err := s3.New(s3.Options{
			Bucket: c.bucket, Endpoint: c.endpoint, Region: c.region, Style: c.style, Transport: holdfast,
			Keys: credentials.Static(sigv4.Keys{ID: "id", Secret: "made up"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		scheme, host, _ := strings.Cut(c.endpoint, "://")
		lookup := map[s3.Style]minio.BucketLookupType{s3.Auto: minio.BucketLookupAuto, s3.InPath: minio.BucketLookupPath, s3.InHost: minio.BucketLookupDNS}
		other, err := minio.New(host, &minio.Options{
			Creds: minioCredentials.NewStaticV4("id", "made up", ""), Secure: scheme == "https", Transport: official,
			Region: c.region, BucketLookup: lookup[c.style], MaxRetries: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		core := minio.Core{Client: other}
		for _, part := range odd {
			key, body := "k"+part, []byte("x")
			for name, do := range map[string][2]func() error{
				"put if none": {
					func() error { _, err := client.Put(ctx, key, "application/jsonl", body, s3.IfNone); return err },
					func() error {
						o := minio.PutObjectOptions{ContentType: "application/jsonl", DisableMultipart: true}
						o.SetMatchETagExcept("*")
						_, err := other.PutObject(ctx, c.bucket, key, bytes.NewReader(body), 1, o)
						return err
					},
				},
				"put if match": {
					func() error {
						_, err := client.Put(ctx, key, "application/jsonl", body, s3.IfETag("abc"))
						return err
					},
					func() error {
						o := minio.PutObjectOptions{ContentType: "application/jsonl", DisableMultipart: true}
						o.SetMatchETag("abc")
						_, err := other.PutObject(ctx, c.bucket, key, bytes.NewReader(body), 1, o)
						return err
					},
				},
				"get a range": {
					func() error { _, _, err := client.Get(ctx, key, 2, 9); return err },
					func() error {
						var o minio.GetObjectOptions
						if err := o.SetRange(2, 9); err != nil {
							return err
						}
						_, _, _, err := core.GetObject(ctx, c.bucket, key, o)
						return err
					},
				},
				"delete": {
					func() error { return client.Delete(ctx, key) },
					func() error { return other.RemoveObject(ctx, c.bucket, key, minio.RemoveObjectOptions{}) },
				},
				"versioning": {
					func() error { _, err := client.KeepsVersions(ctx); return err },
					func() error { _, err := other.GetBucketVersioning(ctx, c.bucket); return err },
				},
			} {
				_, _ = do[0](), do[1]() // a range of an empty answer is an error
				if !slices.Equal(holdfast.last, official.last) || len(holdfast.last) == 0 {
					t.Errorf("%s %q of %+v:\nours   %q\ntheirs %q", name, key, c, holdfast.last, official.last)
				}
			}
		}
	}
}

// AWS configuration files give the same keys, as far as both clients support their content.
func TestProfilesLikeMinIO(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(home, ".aws", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "keys.json"), []byte(`{"Version":1,"AccessKeyId":"i","SecretAccessKey":"s"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const pair = "aws_access_key_id = i%[1]s\naws_secret_access_key = s%[1]s\n"
	named := func(n string) string { return strings.ReplaceAll(pair, "%[1]s", n) }
	for name, c := range map[string]struct{ config, keys, profile string }{
		"keys":             {"", "[default]\n" + named("1"), "default"},
		"config":           {"[profile a]\n" + named("1") + "[default]\n" + named("2"), "", "a"},
		"both":             {"[profile a]\n" + named("1"), "[a]\n" + named("2"), "a"},
		"bare in config":   {"[a]\n" + named("1"), "", "a"},
		"both in config":   {"[default]\n" + named("1") + "[profile default]\n" + named("2"), "", "default"},
		"profile in keys":  {"", "[profile a]\n" + named("1"), "a"},
		"half of a pair":   {"[profile a]\n" + named("1"), "[a]\naws_access_key_id = half\n", "a"},
		"half alone":       {"", "[a]\naws_access_key_id = half\n", "a"},
		"quotes":           {"", "[a]\naws_access_key_id = \"i\"\naws_secret_access_key='s'\n", "a"},
		"comments":         {"", "# x\n[a]\n; y\naws_access_key_id = i # why\naws_secret_access_key = s ; not\n", "a"},
		"colon and equals": {"", "[a]\naws_access_key_id=i\naws_secret_access_key = a/b+c==\naws_session_token = x=y\n", "a"},
		"process":          {"[profile a]\ncredential_process = cat " + filepath.Join(home, "keys.json") + "\n", "", "a"},
		"keys and process": {"[profile a]\ncredential_process = false x\n" + named("1"), "", "a"},
		"sso without role": {"[profile a]\nsso_session = x\n", "", "a"},
		"missing":          {"", "[a]\n" + named("1"), "b"},
	} {
		t.Run(name, func(t *testing.T) {
			write("config", c.config)
			write("credentials", c.keys)
			official, theirErr := minioCredentials.NewFileAWSCredentials("", c.profile).GetWithContext(nil)
			holdfast, ourErr := credentials.Profile(c.profile).Get(t.Context())
			want := sigv4.Keys{ID: official.AccessKeyID, Secret: official.SecretAccessKey, Token: official.SessionToken}
			if holdfast != want || (ourErr == nil) != (theirErr == nil) {
				t.Errorf("holdfast   %+v, %v\ntheirs %+v, %v", holdfast, ourErr, want, theirErr)
			}
		})
	}
}
