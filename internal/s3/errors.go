package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wait"
)

// Error is an error response of a server.
type Error struct {
	Status    int
	Code      string // "NoSuchKey", …
	Message   string
	RequestID string
	// Region is the bucket's region, if the server reports it. WrongRegion means that the request
	// went to a server of another region.
	Region      string
	WrongRegion bool
	// Unsigned is true if there were no keys to sign the request.
	Unsigned bool
	// Location is the address to which the server redirects the request.
	Location string
	// Skew is how far the server's clock is ahead of the clock of this machine.
	Skew time.Duration
}

func (e *Error) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return "the server returned " + e.Code
}

// temporaryCodes are the codes of errors after which a retry may succeed.
var temporaryCodes = []string{
	"RequestError", "RequestTimeout", "Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled",
	"InternalError", "ExpiredToken", "ExpiredTokenException", "SlowDown", "SlowDownWrite", "SlowDownRead",
}

// Temporary reports whether the same request may succeed if it is sent again.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, 499, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout, 520: // 499 is nginx's, 520 Cloudflare's
		return true
	}
	return slices.Contains(temporaryCodes, e.Code)
}

// errorLimit is the maximum number of bytes that are read from an error response.
const errorLimit = 1 << 20

// readError reads an error response and closes it.
func (c *Client) readError(resp *http.Response, key, region string) *Error {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorLimit))
	e := &Error{Status: resp.StatusCode}
	var answer struct {
		XMLName               xml.Name `xml:"Error"`
		Code, Message, Region string
		RequestID             string `xml:"RequestId"`
	}
	if err := xml.Unmarshal(body, &answer); err == nil {
		e.Code, e.Message, e.RequestID, e.Region = answer.Code, answer.Message, answer.RequestID, strings.TrimSpace(answer.Region)
	}
	if e.Code == "" {
		e.Code, e.Message = codeOf(resp, key), plainText(body)
	}
	if e.RequestID == "" {
		e.RequestID = resp.Header.Get("X-Amz-Request-Id")
	}
	if e.Region == "" {
		e.Region = resp.Header.Get("X-Amz-Bucket-Region")
	}
	if !validRegion(e.Region) {
		e.Region = ""
	}
	switch e.Code {
	case "AuthorizationHeaderMalformed", "InvalidRegion", "AccessDenied", "PermanentRedirect", "TemporaryRedirect", "Redirect", "IllegalLocationConstraintException":
		e.WrongRegion = e.Region != "" && e.Region != region
	}
	if resp.StatusCode/100 == 3 {
		e.WrongRegion = e.Region != "" && e.Region != region
		e.Location = resp.Header.Get("Location")
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		e.Skew = date.Sub(time.Now())
	}
	return e
}

// codeOf returns the code for an error response that contains no code.
func codeOf(resp *http.Response, key string) string {
	switch resp.StatusCode {
	case http.StatusNotFound:
		if key == "" {
			return "NoSuchBucket"
		}
		return "NoSuchKey"
	case http.StatusForbidden:
		return "AccessDenied"
	case http.StatusConflict:
		return "Conflict"
	case http.StatusPreconditionFailed:
		return "PreconditionFailed"
	}
	if resp.Status != "" {
		return resp.Status
	}
	return http.StatusText(resp.StatusCode)
}

// plainText returns the beginning of a body that is not XML.
func plainText(body []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), "\ufffd"))
	if strings.HasPrefix(text, "<") { // a proxy's page
		return ""
	}
	if r := []rune(text); len(r) > 500 {
		text = string(r[:500]) + "…"
	}
	return text
}

// Pauses before a request is sent again. Each is random, up to 200 ms, 400 ms, 800 ms and then one
// second.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = time.Second
)

func pause(ctx context.Context, try int) error {
	return wait.For(ctx, rand.N(min(firstPause<<(try-1), lastPause)))
}

var errNoRange = errors.New("the range ends before it begins")
