package call

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/model"
)

// Provider creates the errors of one provider's calls. It is a value, and is safe for concurrent
// use.
type Provider struct {
	Name    string
	Secrets Secrets
	Now     func() time.Time // for a Retry-After that is a date
}

// Failure returns the error of a call that has no readable answer; err is the error of the HTTP
// client. If ctx has ended, its error takes precedence.
func (p Provider) Failure(ctx context.Context, x *Exchange, err error) *model.Error {
	switch {
	case ctx.Err() != nil:
		return p.cancelled(ctx)
	case x.Failed():
		return p.status(x)
	}
	return p.StreamBroken(ctx, err)
}

// StreamBroken returns the error of a connection that failed or broke.
func (p Provider) StreamBroken(ctx context.Context, err error) *model.Error {
	if ctx.Err() != nil {
		return p.cancelled(ctx)
	}
	if err == nil {
		return &model.Error{Kind: model.ErrorNetwork, Provider: p.Name, Message: "the connection broke during the answer"}
	}
	text := p.Secrets.Mask(err.Error())
	if todo := p.remedy(err); todo != "" {
		text += "; hint: " + todo
	}
	return &model.Error{Kind: model.ErrorNetwork, Provider: p.Name, Message: text, Err: &maskedError{text, err}}
}

// remedy returns how to fix a failed connection, depending on the cause; "" if the cause is
// unknown.
func (p Provider) remedy(err error) string {
	var (
		name      *net.DNSError
		invalid   x509.CertificateInvalidError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		dial      *net.OpError
	)
	switch {
	case errors.As(err, &dial) && dial.Op == "proxyconnect":
		return "the proxy does not answer: check HTTPS_PROXY and HTTP_PROXY, or unset them"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the server speaks plain HTTP: write http:// in the base URL"
	case errors.As(err, &name) && name.IsNotFound:
		return "no server has the name " + name.Name + ": check the base URL, or the DNS of this machine"
	case errors.As(err, &name):
		return "the DNS of this machine does not answer: check its network"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		now := time.Now
		if p.Now != nil {
			now = p.Now
		}
		return "the server's certificate is not valid at this time: check the clock of this machine, which says " + now().UTC().Format(time.DateTime) + " UTC"
	case errors.As(err, &authority):
		return "this machine does not trust the issuer of the server's certificate: to trust a proxy's certificate, set SSL_CERT_FILE"
	case errors.As(err, &host):
		return "the server's certificate is for another name: check the base URL"
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &dial):
		if to, ok := dial.Addr.(*net.TCPAddr); ok && to.IP.IsLoopback() {
			if known, ok := providers.Lookup(p.Name); ok && known.Start != "" {
				return p.Name + " is not running: " + known.Start
			}
			return "no server is listening there: start the model's server, or check the base URL"
		}
	}
	return ""
}

// Malformed returns the error for an answer that is not valid.
func (p Provider) Malformed(err error) *model.Error {
	text := p.Secrets.Mask(err.Error())
	return &model.Error{Kind: model.ErrorMalformed, Provider: p.Name, Message: text, Err: &maskedError{text, err}}
}

// WebPage returns the error for a web page that was sent instead of an answer.
func (p Provider) WebPage(page io.Reader) *model.Error {
	text, _ := io.ReadAll(io.LimitReader(page, maxErrorBody))
	what := "the server sent a web page instead of an answer"
	if title := titleOf(text); title != "" {
		what += fmt.Sprintf(" (%q)", p.Secrets.Mask(title))
	}
	return &model.Error{
		Kind: model.ErrorMalformed, Provider: p.Name, Status: http.StatusOK,
		Retry:   new(false), // a retry would get the same page again
		Message: what + "; hint: check the base URL, and any proxy: the network may require a login in a browser first",
	}
}

// titleOf returns the title of a web page, or "".
func titleOf(page []byte) string {
	lower := strings.ToLower(string(page))
	_, rest, ok := strings.Cut(lower, "<title")
	_, rest, begun := strings.Cut(rest, ">")
	inner, _, ended := strings.Cut(rest, "</title")
	if at := len(lower) - len(rest); ok && begun && ended && len(lower) == len(page) {
		return strings.TrimSpace(string(page[at : at+len(inner)]))
	}
	return ""
}

// Reported returns the error that a provider sent as JSON within a successful answer: either an
// error object, or a document that contains one under "error".
func (p Provider) Reported(document []byte) *model.Error {
	complaint := parseAPIError(document)
	return &model.Error{Kind: complaint.kind(0), Provider: p.Name, Message: p.Secrets.Mask(complaint.message)}
}

func (p Provider) cancelled(ctx context.Context) *model.Error {
	return &model.Error{Kind: model.ErrorCancelled, Provider: p.Name, Message: ctx.Err().Error(), Err: ctx.Err()}
}

func (p Provider) status(x *Exchange) *model.Error {
	complaint := parseAPIError(x.text)
	e := &model.Error{
		Kind: complaint.kind(x.status), Provider: p.Name, Status: x.status,
		RetryAfter: p.retryAfter(x.header), Message: p.Secrets.Mask(complaint.message),
	}
	switch x.header.Get("X-Should-Retry") {
	case "true":
		e.Retry = new(true)
	case "false":
		e.Retry = new(false)
	}
	if x.status/100 == 3 {
		e.Message = "the address redirects, and a key is not sent elsewhere; hint: set the base URL to " +
			p.Secrets.Mask(x.header.Get("Location"))
	}
	return e
}

// retryAfter returns how long the provider asks the client to wait, or 0.
func (p Provider) retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return wait(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		now := time.Now
		if p.Now != nil {
			now = p.Now
		}
		return wait(at.Sub(now()).Seconds())
	}
	return 0
}

func wait(seconds float64) time.Duration {
	const day = 24 * 60 * 60
	if !(seconds > 0) { // NaN too
		return 0
	}
	return time.Duration(math.Min(seconds, day) * float64(time.Second))
}

// apiError is an error as the provider describes it.
type apiError struct {
	message, code string
	status        int // if the document names one
}

// parseAPIError parses the error documents of Anthropic, OpenAI, OpenRouter (a number as code),
// Ollama (a string as error), vLLM and FastAPI. For any other document, the message is the whole
// text.
func parseAPIError(document []byte) apiError {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(document, &doc) != nil {
		return apiError{message: string(document)}
	}
	if len(doc.Error) > 0 && doc.Error[0] == '{' {
		return parseAPIError(doc.Error)
	}
	c := apiError{message: doc.Message, code: doc.Type}
	for _, alternative := range []json.RawMessage{doc.Error, doc.Detail} {
		var s string
		if c.message == "" && json.Unmarshal(alternative, &s) == nil {
			c.message = s
		} else if c.message == "" {
			c.message = string(alternative)
		}
	}
	var code string
	if json.Unmarshal(doc.Code, &code) == nil && code != "" {
		c.code += " " + code
	} else if n, err := strconv.Atoi(string(doc.Code)); err == nil {
		c.status = n
	}
	return c
}

// kind classifies an error. It first uses the code, which is more specific than the status: 400 and
// 429 each have two meanings.
func (c apiError) kind(status int) model.ErrorKind {
	if status == 0 {
		status = c.status
	}
	code, text := strings.ToLower(c.code), strings.ToLower(c.message)
	has := func(s string, words ...string) bool {
		for _, a := range words {
			if strings.Contains(s, a) {
				return true
			}
		}
		return false
	}
	invalid := status == 0 || status == 400 || status == 413 || status == 422
	switch {
	case status == 413, has(code, "context_length", "exceed_context_size", "request_too_large"),
		invalid && has(text, "prompt is too long", "context length", "context window", "context limit",
			"context size", "too many tokens", "maximum number of tokens", "reduce the length"):
		return model.ErrorTooLong
	case has(code, "insufficient_quota", "billing"), invalid && has(text, "credit balance"): // waiting does not help
		return model.ErrorAuth
	}
	switch {
	case status == 401, status == 402, status == 403:
		return model.ErrorAuth
	case status == 404, status/100 == 3:
		return model.ErrorNotFound
	case status == 429:
		return model.ErrorRateLimit
	case status == 408, status == 409, status == 425, status >= 500:
		return model.ErrorOverloaded
	case status != 0:
		return model.ErrorInvalid
	}
	switch {
	case has(code, "authentication", "permission", "api_key"):
		return model.ErrorAuth
	case has(code, "not_found"), c.code == "" && has(text, "not found"):
		return model.ErrorNotFound
	case has(code, "rate_limit"):
		return model.ErrorRateLimit
	case has(code, "invalid_request", "badrequest"):
		return model.ErrorInvalid
	}
	return model.ErrorOverloaded
}

// maskedError is an error with a masked text. [errors.Is] works with the hidden error. That error
// cannot be unwrapped, because it may contain the key.
type maskedError struct {
	text string
	err  error
}

func (h *maskedError) Error() string        { return h.text }
func (h *maskedError) Is(target error) bool { return errors.Is(h.err, target) }

// CheckKey returns the reason why a key cannot be sent, without showing the key.
func CheckKey(key string) error {
	for _, r := range key {
		if r < ' ' || r > '~' {
			return fmt.Errorf("the API key has a character that cannot be sent (%U)", r)
		}
	}
	return nil
}
