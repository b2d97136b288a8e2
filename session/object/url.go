package object

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/aws/credentials"
	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
	"github.com/holdfast-dev/holdfast/internal/s3"
	"github.com/holdfast-dev/holdfast/session"
)

const urlHint = "use the form s3://bucket/prefix?endpoint=https://host&region=us-east-1"

// address is a parsed URL.
type address struct {
	bucket, prefix string // the prefix is "" or ends with a slash
	host           string // host with port; "" means Amazon's
	secure         bool
	region         string
	style          s3.Style
	profile        string
	key, secret    string
	versions       bool   // old versions of objects are accepted
	shown          string // the URL without its password
}

// parseURL reads a store's URL.
func parseURL(raw string) (*address, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The parser's error contains the URL with its password.
		return nil, &session.Error{Op: "open", Err: session.ErrInvalid, Detail: "the store's URL is invalid", Hint: urlHint}
	}
	// An unknown parameter may be a secret too.
	plain := *u
	plain.RawQuery, plain.ForceQuery = "", false
	p := &address{bucket: u.Host, secure: true, shown: plain.Redacted()}
	bad := func(format string, args ...any) (*address, error) {
		return nil, &session.Error{Op: "open", Err: session.ErrInvalid, Detail: p.shown + ": " + fmt.Sprintf(format, args...), Hint: urlHint}
	}
	if u.Scheme != "s3" || u.Opaque != "" {
		return bad("not an s3:// URL")
	}
	if u.Fragment != "" {
		return bad("the URL has a # (fragment)")
	}
	if strings.Contains(p.bucket, ":") { // the text may be a part of a secret
		p.shown = "s3://…"
		return bad("the bucket name has a colon; write / in a secret as %%2F")
	}
	if p.bucket == "" {
		return bad("the URL has no bucket")
	}
	if p.prefix = strings.Trim(u.Path, "/"); p.prefix != "" {
		for part := range strings.SplitSeq(p.prefix, "/") {
			if part == "" || part == "." || part == ".." {
				return bad("the prefix has an empty part, . or ..")
			}
		}
		p.prefix += "/"
	}
	if len(p.prefix) > prefixLimit {
		return bad("the prefix is longer than %d bytes", prefixLimit)
	}
	if u.User != nil {
		p.key = u.User.Username()
		p.secret, _ = u.User.Password()
		if p.key == "" || p.secret == "" {
			return bad("the URL needs both key:secret or neither")
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("invalid URL parameters")
	}
	for name, values := range query {
		if len(values) > 1 {
			return bad("duplicate parameter %s", name)
		}
		if why := p.set(name, values[0]); why != "" {
			return bad("%s", why)
		}
	}
	if p.key != "" && p.profile != "" {
		return bad("the URL has both a key and a profile")
	}
	if v := query.Get("insecure"); v != "" { // whatever the endpoint's own scheme
		insecure, _ := strconv.ParseBool(v)
		if e := query.Get("endpoint"); insecure && strings.HasPrefix(e, "https:") || !insecure && strings.HasPrefix(e, "http:") {
			return bad("insecure=%s contradicts the endpoint's scheme", v)
		}
		p.secure = !insecure
	}
	p.shown = u.Redacted()
	return p, nil
}

// prefixLimit leaves space for the store's part of a key in the 1,024 bytes that S3 allows.
const prefixLimit = 512

// set sets a parameter. If the value is invalid, it returns the reason, otherwise "".
func (p *address) set(name, value string) string {
	if value == "" {
		return name + " is empty"
	}
	switch name {
	case "endpoint":
		return p.setEndpoint(value)
	case "region":
		p.region = value
	case "profile":
		p.profile = value
	case "insecure":
		if value != "true" && value != "false" {
			return "invalid insecure: want true or false"
		}
	case "path-style":
		switch value {
		case "true":
			p.style = s3.InPath
		case "false":
			p.style = s3.InHost
		default:
			return "invalid path-style: want true or false"
		}
	case "versions":
		if value != "keep" {
			return "invalid versions: want keep, or leave it out"
		}
		p.versions = true
	default:
		return "unknown parameter " + strconv.Quote(name)
	}
	return ""
}

func (p *address) setEndpoint(value string) string {
	p.host = value
	if scheme, host, ok := strings.Cut(value, "://"); ok {
		if scheme != "http" && scheme != "https" {
			return "invalid endpoint: want http or https"
		}
		p.secure, p.host = scheme == "https", strings.TrimSuffix(host, "/")
	}
	if p.host == "" || strings.ContainsAny(p.host, "/?#@ ") {
		return "invalid endpoint: want a host, or a host and a port"
	}
	return ""
}

// endpoint returns the server's address.
func (p *address) endpoint() string {
	host := p.host
	switch {
	case host == "" && p.secure:
		return ""
	case host == "":
		host = "s3.amazonaws.com"
	}
	if p.secure {
		return "https://" + host
	}
	return "http://" + host
}

// keys returns the access keys. They come from the URL, otherwise from the profile, otherwise from
// the first of these that has keys: the environment, the AWS and MinIO files, and the role of the
// program or the machine.
func (p *address) keys() *credentials.Chain {
	switch {
	case p.key != "":
		return credentials.Static(sigv4.Keys{ID: p.key, Secret: p.secret})
	case p.profile != "":
		return credentials.Profile(p.profile)
	}
	return credentials.Default()
}
