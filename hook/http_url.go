package hook

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/urlpattern"
)

// mayReach returns an error if an HTTP hook may not call the URL.
func (c *Commands) mayReach(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("its URL is invalid")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("its URL does not begin with http:// or https:// and a host")
	case u.User != nil:
		return errors.New("its URL contains a user name or password; hint: use headers")
	case urlpattern.Dotted(u):
		return errors.New(`its URL has "." or ".." in the path`)
	case isLocalhost(u.Hostname()), isLoopback(u.Hostname()):
		return nil
	case slices.ContainsFunc(c.urls, func(p urlpattern.Pattern) bool { return p.Matches(u) }):
		return nil
	}
	return fmt.Errorf("hooks may not call %s; hint: add it to allowedHttpHookUrls", u.Host)
}

func isLocalhost(host string) bool { return strings.EqualFold(host, "localhost") }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
