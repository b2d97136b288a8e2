package sigv4

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// The examples of the Amazon S3 API reference ("Signature calculations for the
// authorization header: transferring a payload in a single chunk"), with its made-up keys.
func TestExamplesOfS3(t *testing.T) {
	keys := Keys{ID: "AKIA" + "IOSFODNN7EXAMPLE", Secret: "wJalrXUtnF" + "EMI/K7MDENG/bPxRfiCYEXAMPLEKEY"} // in pieces: they look like keys
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, method, url, body string
		headers                 []string
		signed, signature       string
	}{
		{
			"get a range of an object", "GET", "/test.txt", "", []string{"Range: bytes=0-9"},
			"host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		},
		{
			"put an object", "PUT", "/test$file.text", "Welcome to Amazon S3.",
			[]string{"Date: Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class: REDUCED_REDUNDANCY"},
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
		},
		{
			"get a bucket's lifecycle", "GET", "/?lifecycle", "", nil,
			"host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		},
		{
			"list objects", "GET", "/?max-keys=2&prefix=J", "", nil,
			"host;x-amz-content-sha256;x-amz-date", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request(t, c.method, "https://examplebucket.s3.amazonaws.com"+c.url, c.headers...)
			Signer{"s3", "us-east-1"}.Sign(r, keys, Hash([]byte(c.body)), at)
			want := "AWS4-HMAC-SHA256 Credential=" + keys.ID + "/20130524/us-east-1/s3/aws4_request, SignedHeaders=" +
				c.signed + ", Signature=" + c.signature
			if got := r.Header.Get("Authorization"); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// Cases of AWS's test suite for Signature Version 4.
func TestSuiteOfAWS(t *testing.T) {
	keys := Keys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	const vanilla = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	for _, c := range []struct{ name, method, path, signature string }{
		{"get-vanilla", "GET", "/", vanilla},
		{"get-relative", "GET", "/example/..", vanilla},
		{"get-relative-relative", "GET", "/example1/example2/../..", vanilla},
		{"get-slash", "GET", "//", vanilla},
		{"get-slash-dot-slash", "GET", "/./", vanilla},
		{"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"post-vanilla", "POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request(t, c.method, "https://example.amazonaws.com"+c.path)
			Signer{"service", "us-east-1"}.Sign(r, keys, EmptyHash, at)
			if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "SignedHeaders=host;x-amz-date, Signature="+c.signature) {
				t.Errorf("got %s, want %s", got, c.signature)
			}
		})
	}
}

func request(t *testing.T, method, url string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

// The path and the query on the wire are those that were signed.
func TestWire(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{"a b", "/b/a%20b"},
		{"a+b=c&d", "/b/a%2Bb%3Dc%26d"},
		{"ä/日本", "/b/%C3%A4/%E6%97%A5%E6%9C%AC"},
		{"//x/../y/.", "/b///x/../y/."},
		{"%2F%", "/b/%252F%25"},
		{"sessions/a!2E~", "/b/sessions/a%212E~"},
	} {
		r := request(t, "GET", "http://h/")
		r.URL.Path = "/b/" + c.key
		r.URL.RawQuery = "prefix=a b/c+&list-type=2&list-type=1"
		Signer{"s3", "r"}.Sign(r, Keys{ID: "i", Secret: "s"}, EmptyHash, time.Unix(0, 0))
		if got := r.URL.EscapedPath(); got != c.want {
			t.Errorf("%q: %s, want %s", c.key, got, c.want)
		}
		if want := "list-type=1&list-type=2&prefix=a%20b%2Fc%20"; r.URL.RawQuery != want {
			t.Errorf("query %s, want %s", r.URL.RawQuery, want)
		}
		if r.Header.Get("X-Amz-Content-Sha256") != EmptyHash {
			t.Error("no hash of the body, which S3 requires")
		}
	}
}

// Services other than S3 get paths encoded twice and no header with the hash.
func TestOtherServices(t *testing.T) {
	s := Signer{"bedrock", "us-east-1"}
	r := request(t, "POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-v1%3A0/invoke")
	if got, want := s.canonicalPath(r.URL), "/model/anthropic.claude-v1%253A0/invoke"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}
	s.Sign(r, Keys{ID: "i", Secret: "s", Token: "t"}, EmptyHash, time.Unix(0, 0))
	if r.Header.Get("X-Amz-Content-Sha256") != "" || r.Header.Get("X-Amz-Security-Token") != "t" {
		t.Errorf("headers %v", r.Header)
	}
	if !strings.Contains(r.Header.Get("Authorization"), "SignedHeaders=host;x-amz-date;x-amz-security-token,") {
		t.Errorf("authorization %s", r.Header.Get("Authorization"))
	}
	if u := r.URL.String(); !strings.Contains(u, "v1%3A0/invoke") {
		t.Errorf("the URL was changed: %s", u)
	}
}
