package otel

import (
	"crypto/x509"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// reader reads variables and keeps the first error.
type reader struct {
	get func(string) string
	err error
}

func (r *reader) reject(name, value, what, advice string) {
	if r.err == nil {
		r.err = &Error{Variable: name, Value: value, Detail: what, Advice: advice}
	}
}

func (r *reader) text(name string) string { return strings.TrimSpace(r.get(name)) }

func (r *reader) boolean(name string) bool {
	v := r.text(name)
	if v != "" && !strings.EqualFold(v, "true") && !strings.EqualFold(v, "false") {
		r.reject(name, v, "neither true nor false", "set it to true or false")
	}
	return strings.EqualFold(v, "true")
}

// count reads a number; "" gives fallback.
func (r *reader) count(name string, fallback int) int {
	v := r.text(name)
	if v == "" {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<20 {
		r.reject(name, v, "not a number from 1 to 1048576", "unset it to use "+strconv.Itoa(fallback))
		return fallback
	}
	return n
}

// millis reads a duration in milliseconds; for "" it returns fallback.
func (r *reader) millis(name string, fallback time.Duration) time.Duration {
	v := r.text(name)
	if v == "" {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 24*60*60*1000 {
		r.reject(name, v, "not a number of milliseconds", "unset it to use "+strconv.FormatInt(fallback.Milliseconds(), 10))
		return fallback
	}
	return time.Duration(n) * time.Millisecond
}

// pairs parses "key=value,key=value", percent-encoded. Errors do not contain values that may be
// secret.
func (r *reader) pairs(name, text string, secret bool) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		shown := strings.TrimSpace(pair)
		k, v, ok := strings.Cut(pair, "=")
		k = strings.TrimSpace(k)
		if secret {
			shown = ""
		}
		v, err := url.PathUnescape(strings.TrimSpace(v))
		switch {
		case !ok || k == "" || err != nil:
			r.reject(name, shown, "not a list of key=value", "write key=value,key=value with %2C for a comma")
			continue
		case secret && !validHeader(k, v):
			r.reject(name, "", "invalid header name "+strconv.Quote(k)+", or its value has characters that headers cannot have", "write name=value,name=value")
			continue
		}
		out[k] = v
	}
	return out
}

func validHeader(name, value string) bool {
	const more = "!#$%&'*+-.^_`|~"
	for _, c := range []byte(name) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	reserved := slices.Contains([]string{"Content-Type", "Content-Length", "Content-Encoding", "Host"}, http.CanonicalHeaderKey(name))
	return !reserved && !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// resource reads the attributes of the resource that sends the spans.
func (r *reader) resource() []attribute.KeyValue {
	const name = "OTEL_RESOURCE_ATTRIBUTES"
	pairs := r.pairs(name, r.text(name), false)
	if v := r.text("OTEL_SERVICE_NAME"); v != "" {
		pairs["service.name"] = v
	}
	var out []attribute.KeyValue
	for _, k := range slices.Sorted(maps.Keys(pairs)) {
		out = append(out, attribute.String(k, pairs[k]))
	}
	return out
}

// sampler reads which turns are exported. If a turn is not exported, none of its spans are.
func (r *reader) sampler() sdktrace.Sampler {
	const name, arg = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	ratio := func() sdktrace.Sampler {
		v := r.text(arg)
		f, err := strconv.ParseFloat(v, 64)
		if v == "" {
			f, err = 1, nil
		}
		if err != nil || f < 0 || f > 1 {
			r.reject(arg, v, "not a ratio", "set it to a number from 0 to 1")
		}
		return sdktrace.TraceIDRatioBased(f)
	}
	switch v := r.text(name); v {
	case "", "parentbased_always_on":
		return sdktrace.ParentBased(sdktrace.AlwaysSample())
	case "parentbased_always_off":
		return sdktrace.ParentBased(sdktrace.NeverSample())
	case "parentbased_traceidratio":
		return sdktrace.ParentBased(ratio())
	case "always_on":
		return sdktrace.AlwaysSample()
	case "always_off":
		return sdktrace.NeverSample()
	case "traceidratio":
		return ratio()
	default:
		r.reject(name, v, "unsupported sampler", "set it to always_on, always_off, traceidratio, or one of these with the prefix parentbased_")
		return nil
	}
}

// pool reads the certificates of the authorities that signed the collector's certificate.
func (r *reader) pool(name, file string) *x509.CertPool {
	pem, err := os.ReadFile(file)
	if err != nil {
		r.reject(name, file, "cannot read it: "+err.Error(), "set it to a PEM file")
		return nil
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		r.reject(name, file, "it contains no certificate", "set it to a PEM file")
	}
	return p
}
