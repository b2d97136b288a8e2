package call

import (
	"errors"
	"net/url"
)

// Address parses a provider's base URL. Its errors do not repeat the URL, which
// may hold a secret.
func Address(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the base URL is not an http or https address; hint: it looks like http://127.0.0.1:8080/v1")
	}
	return u, nil
}
