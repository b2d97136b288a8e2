package redis

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// The guarantees that the server must give before an append is acknowledged, see doc.go.
const (
	durableAlways   = "always"   // the server syncs before it answers
	durableWait     = "wait"     // the server syncs every second, and the store waits for that
	durableEverysec = "everysec" // a second may be lost
	durableNone     = "none"     // no requirements
)

// target is a parsed URL.
type target struct {
	network, addr  string
	user, password string
	number         int // the database number
	tls            bool
	prefix         string
	durability     string
	rewrite        bool // Erase makes the server rewrite its append-only file
	shown          string
}

const parameters = "prefix, durability, rewrite; db with unix:"

// parseURL parses the URL of a store. Its errors never contain a possible password.
func parseURL(raw string) (t target, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return t, badURL("it is not a URL")
	}
	if u.User == nil && strings.Contains(raw, "@") {
		return t, badURL("its @ does not follow a user and password")
	}
	if u.Fragment != "" || u.Opaque != "" {
		return t, badURL("it has a #, or no // after its scheme")
	}
	t = target{prefix: "holdfast:", durability: durableAlways, rewrite: true}
	t.user = u.User.Username()
	t.password, _ = u.User.Password()
	if t.user != "" && t.password == "" { // the user would not be sent to the server
		return t, badURL("it has a user but no password; write a password without a user as redis://:password@host")
	}
	if err := t.address(u); err != nil {
		return t, err
	}
	t.shown = u.Scheme + "://" + t.addr
	if t.user != "" {
		t.shown = u.Scheme + "://" + t.user + "@" + t.addr
	}
	if t.number != 0 {
		t.shown += "/" + strconv.Itoa(t.number)
	}
	if err := t.parameters(u); err != nil {
		return t, err
	}
	if t.network == "unix" && t.number != 0 {
		t.shown += "?db=" + strconv.Itoa(t.number)
	}
	return t, nil
}

func badURL(detail string) error {
	return &session.Error{
		Op: "open store", Err: session.ErrInvalid, Detail: "invalid URL of the Redis store: " + detail,
		Hint: "write redis://user:password@host:6379/0, rediss:// for TLS or unix:///path/to/socket; percent-encode special characters of a password",
	}
}

func (t *target) address(u *url.URL) error {
	switch u.Scheme {
	case "unix":
		if u.Host != "" || u.Path == "" || u.Path == "/" {
			return badURL("want unix:/// and the path of a socket")
		}
		t.network, t.addr = "unix", u.Path
		return nil
	case "redis", "rediss":
	default:
		return badURL("its scheme is not redis, rediss or unix")
	}
	t.network, t.tls = "tcp", u.Scheme == "rediss"
	if u.Hostname() == "" {
		return badURL("it has no host")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return badURL("invalid port")
	}
	t.addr = net.JoinHostPort(u.Hostname(), port)
	if db := strings.TrimPrefix(u.Path, "/"); db != "" {
		return t.database(db)
	}
	return nil
}

func (t *target) database(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || strconv.Itoa(n) != text {
		return badURL("invalid database number")
	}
	t.number = n
	return nil
}

func (t *target) parameters(u *url.URL) error {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return badURL("invalid parameters")
	}
	for name, values := range q {
		if len(values) != 1 {
			return badURL(fmt.Sprintf("the parameter %q occurs %d times", name, len(values)))
		}
		switch value := values[0]; {
		case name == "prefix":
			err = checkPrefix(value)
			t.prefix = value
		case name == "durability":
			if !slices.Contains([]string{durableAlways, durableWait, durableEverysec, durableNone}, value) {
				err = errors.New("invalid durability: want always, wait, everysec or none")
			}
			t.durability = value
		case name == "rewrite":
			if value != "on" && value != "off" {
				err = errors.New("invalid rewrite: want on or off")
			}
			t.rewrite = value == "on"
		case name == "db" && t.network == "unix":
			err = t.database(value)
		default:
			err = fmt.Errorf("unknown parameter %q", name)
		}
		if e, ok := errors.AsType[*session.Error](err); ok {
			return e
		}
		if err != nil {
			return &session.Error{
				Op: "open store", Err: session.ErrInvalid, Detail: t.shown + ": " + err.Error(),
				Hint: "the parameters are " + parameters,
			}
		}
	}
	return nil
}

// checkPrefix rejects characters with a meaning in a hash tag, a pattern or an access list rule.
func checkPrefix(p string) error {
	if p == "" || len(p) > 64 {
		return errors.New("invalid prefix: want 1 to 64 bytes")
	}
	for _, r := range p {
		if r <= ' ' || r > '~' || strings.ContainsRune(`{}*?[]\^`, r) {
			return fmt.Errorf("invalid prefix: it contains %q", r)
		}
	}
	return nil
}
