// Package sigv4 signs requests with AWS Signature Version 4, for S3 and for other AWS services.
//
//	signer := sigv4.Signer{Service: "s3", Region: "eu-central-1"}
//	signer.Sign(request, keys, sigv4.Hash(body), time.Now())
//
// It sends no requests and finds no keys; that is done by internal/s3 and internal/aws/credentials.
//
// Source: "Create a signed AWS API request", IAM user guide; "Authenticating requests (AWS Signature Version 4)",
// Amazon S3 API reference.
package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Keys are an access key with its secret, and the session token of temporary keys.
type Keys struct {
	ID, Secret, Token string
}

// Signer signs requests to one service in one region.
type Signer struct {
	Service string // "s3", "bedrock", …
	Region  string
}

// EmptyHash is the [Hash] of an empty body.
const EmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Hash returns the SHA-256 of a body in hexadecimal, for [Signer.Sign].
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

const (
	algorithm  = "AWS4-HMAC-SHA256"
	timeFormat = "20060102T150405Z"
)

// Sign adds the headers that authenticate a request: X-Amz-Date and Authorization. For temporary
// keys it also adds X-Amz-Security-Token, and for S3 X-Amz-Content-Sha256. It signs every header of
// the request except headers that proxies and net/http change. It replaces the URL's query, and for
// S3 its path, with their signed forms.
func (s Signer) Sign(r *http.Request, k Keys, bodyHash string, now time.Time) {
	stamp := now.UTC().Format(timeFormat)
	r.Header.Set("X-Amz-Date", stamp)
	if k.Token != "" {
		r.Header.Set("X-Amz-Security-Token", k.Token)
	}
	if s.s3() {
		r.Header.Set("X-Amz-Content-Sha256", bodyHash)
		r.URL.RawPath = EncodePath(r.URL.Path)
	}
	r.URL.RawQuery = canonicalQuery(r.URL.Query())
	names, headers := canonicalHeaders(r)
	day := stamp[:8]
	scope := strings.Join([]string{day, s.Region, s.Service, "aws4_request"}, "/")
	request := strings.Join([]string{r.Method, s.canonicalPath(r.URL), r.URL.RawQuery, headers, names, bodyHash}, "\n")
	toSign := strings.Join([]string{algorithm, stamp, scope, Hash([]byte(request))}, "\n")

	key := []byte("AWS4" + k.Secret)
	for _, part := range []string{day, s.Region, s.Service, "aws4_request", toSign} {
		key = sum(key, part)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+k.ID+"/"+scope+
		", SignedHeaders="+names+", Signature="+hex.EncodeToString(key))
}

// s3 reports whether the service signs paths unchanged: keys may contain . and .. and //.
func (s Signer) s3() bool { return s.Service == "s3" || strings.HasPrefix(s.Service, "s3-") }

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// unsigned are headers that may be changed or added on the way to the server.
var unsigned = []string{"accept-encoding", "authorization", "user-agent"}

// canonicalHeaders returns the names of the signed headers, and the headers, one per line.
func canonicalHeaders(r *http.Request) (names, lines string) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	values := map[string]string{"host": host}
	sorted := []string{"host"}
	for name, all := range r.Header {
		name = strings.ToLower(name)
		if name == "host" || slices.Contains(unsigned, name) {
			continue
		}
		trimmed := make([]string, len(all))
		for i, v := range all {
			trimmed[i] = strings.Join(strings.Fields(v), " ")
		}
		values[name] = strings.Join(trimmed, ",")
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	var b strings.Builder
	for _, name := range sorted {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(sorted, ";"), b.String()
}
