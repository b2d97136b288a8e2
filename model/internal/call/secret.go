package call

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

const (
	maskText   = "***"
	minSecret  = 4  // a shorter string cannot be a secret
	longValue  = 16 // of a header; a shorter value is a name
	maxMessage = 2000
)

// Secrets are strings that must not appear in an error.
type Secrets []string

// SecretsOf collects a key and other possible secrets: the password and the query values of an
// address, and long header values. Each is collected as it is and in URL-encoded form.
func SecretsOf(key string, address *url.URL, more http.Header) Secrets {
	var s Secrets
	s.add(key)
	for _, values := range more {
		for _, v := range values {
			if len(v) >= longValue {
				s.add(v)
			}
		}
	}
	if address == nil {
		return s
	}
	if password, ok := address.User.Password(); ok {
		s.add(password)
		s.add(base64.StdEncoding.EncodeToString([]byte(address.User.Username() + ":" + password)))
	}
	for _, values := range address.Query() {
		for _, v := range values {
			s.add(v)
		}
	}
	return s
}

func (s *Secrets) add(secret string) {
	if len(secret) < minSecret {
		return
	}
	*s = append(*s, secret)
	for _, written := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		if written != secret {
			*s = append(*s, written)
		}
	}
}

// Mask replaces every secret in an untrusted text with three asterisks. It also makes the text safe
// for a terminal: no control characters, no line breaks, at most 2,000 bytes.
func (s Secrets) Mask(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	for _, secret := range s { // this happens before truncating, so that no part of a key remains
		text = strings.ReplaceAll(text, secret, maskText)
	}
	return truncate.String(text, maxMessage)
}
