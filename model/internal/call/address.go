package call

import (
	"errors"
	"net/url"
)

// Address parses a provider's base URL. Its errors do not repeat the URL, which may contain a secret.
func Address(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the base URL is not an http or https address; hint: set it to a URL such as http://127.0.0.1:8080/v1")
	}
	return u, nil
}
