package engine

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// The supported API versions.
const (
	minAPI = "1.41" // Docker 20.10
	maxAPI = "1.56"
)

// ping connects and negotiates the API version: the engine's newest, at most maxAPI. system is the
// operating system of the engine's containers, or "" if it is unknown.
func (c *client) ping(ctx context.Context) (system string, err error) {
	header, err := c.greeting(ctx)
	if err != nil {
		return "", err
	}
	c.api = maxAPI
	if theirs := header.Get("Api-Version"); theirs != "" {
		if _, _, ok := parseAPI(theirs); !ok {
			return "", fmt.Errorf("its API version %q is invalid", theirs)
		}
		if older(theirs, maxAPI) {
			c.api = theirs
		}
	}
	return header.Get("Ostype"), nil
}

// greeting sends the request that every API version has. The method is HEAD, or GET if the engine
// does not support HEAD. Only the response to GET contains an error message.
func (c *client) greeting(ctx context.Context) (http.Header, error) {
	const path = "/_ping"
	if res, err := c.roundTrip(ctx, http.MethodHead, path, nil, nil, nil); err == nil {
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return res.Header, nil
		}
	}
	res, err := c.roundTrip(ctx, http.MethodGet, path, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, responseError(res)
	}
	return res.Header, decode(res, nil)
}

// parseAPI parses an API version: "1.41".
func parseAPI(s string) (major, minor int, ok bool) {
	a, b, _ := strings.Cut(s, ".")
	major, err1 := strconv.Atoi(a)
	minor, err2 := strconv.Atoi(b)
	return major, minor, err1 == nil && err2 == nil && major >= 0 && minor >= 0
}

// older reports whether an API version is older than another.
func older(version, than string) bool {
	a, b, _ := parseAPI(version)
	c, d, _ := parseAPI(than)
	return a < c || a == c && b < d
}
