package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/holdfast-dev/holdfast/session"
)

// address is a parsed URL.
type address struct {
	shown   string // the URL without the password
	config  *mysql.Config
	conns   int  // 0: not set
	relaxed bool // accept servers that acknowledge before they sync
}

// nopLogger discards the driver's log, which repeats its errors.
type nopLogger struct{}

func (nopLogger) Print(...any) {}

// parse reads mysql://user:password@host:port/database?parameters. Its errors never contain a
// possible password.
func parse(text string) (*address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" || u.Opaque != "" {
		return nil, badURL("it does not start with mysql://user:password@host:port/database; percent-encode special characters of a password, for example @ as %%40")
	}
	if before, _, _ := strings.Cut(text, "?"); u.User == nil && strings.Contains(before, "@") {
		return nil, badURL("its @ does not follow a user and password; percent-encode special characters of a password, for example / as %%2F")
	}
	a := &address{shown: u.Redacted(), config: mysql.NewConfig()}
	c := a.config
	c.DBName = strings.TrimPrefix(u.Path, "/")
	switch {
	case c.DBName == "" || strings.Contains(c.DBName, "/"):
		return nil, badURL("it has no database; want mysql://user:password@host:port/database")
	case len(c.DBName) > 64:
		return nil, badURL("the database name is longer than 64 bytes")
	case u.Fragment != "":
		return nil, badURL("it has a fragment (#); write # in a password as %%23")
	}
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr = "tcp", net.JoinHostPort(u.Hostname(), "3306")
	if p := u.Port(); p != "" {
		c.Addr = net.JoinHostPort(u.Hostname(), p)
	}
	c.Timeout = 10 * time.Second
	c.MultiStatements, c.InterpolateParams, c.ClientFoundRows = true, true, true
	c.MaxAllowedPacket = 0 // use the server's value
	c.Logger = nopLogger{}
	if err := c.Apply(mysql.Charset("binary", "")); err != nil {
		return nil, badURL("%v", err)
	}
	if err := a.parameters(u); err != nil {
		return nil, err
	}
	if c.Net == "tcp" && u.Hostname() == "" {
		return nil, badURL("it has no host")
	}
	return a, nil
}

// parameters reads the URL parameters. Each may occur once; unknown ones are rejected.
func (a *address) parameters(u *url.URL) error {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return badURL("it has invalid parameters")
	}
	for name, v := range values {
		if len(v) != 1 {
			return badURL("the parameter %s occurs %d times", name, len(v))
		}
		if err := a.parameter(u, name, v[0], values.Get("tls-ca")); err != nil {
			return err
		}
	}
	return nil
}

func (a *address) parameter(u *url.URL, name, value, ca string) error {
	c := a.config
	switch name {
	case "tls":
		switch value {
		case "true", "false", "skip-verify", "preferred":
			if ca != "" && value != "true" {
				return badURL("tls-ca needs tls=true")
			}
			c.TLSConfig = value
		default:
			return badURL("tls=%s: want true, false, skip-verify or preferred", value)
		}
	case "tls-ca":
		if u.Query().Get("tls") != "true" {
			return badURL("tls-ca needs tls=true")
		}
		return a.trust(u.Hostname(), value)
	case "socket":
		if u.Host != "" {
			return badURL("it has both a socket and a host")
		}
		c.Net, c.Addr = "unix", value
	case "timeout":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return badURL("timeout=%s: want a duration such as 10s", value)
		}
		c.Timeout = d
	case "conns":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return badURL("conns=%s: want a number of at least 1", value)
		}
		a.conns = n
	case "durability":
		if value != "full" && value != "relaxed" {
			return badURL("durability=%s: want full or relaxed", value)
		}
		a.relaxed = value == "relaxed"
	default:
		return badURL("unknown parameter %q; use tls, tls-ca, socket, timeout, conns or durability", name)
	}
	return nil
}

// trust makes the certificates in a file the trusted authorities for the server.
func (a *address) trust(host, file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return badURL("tls-ca: %v", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return badURL("tls-ca: no certificate in %s", file)
	}
	a.config.TLS = &tls.Config{RootCAs: pool, ServerName: host, MinVersion: tls.VersionTLS12}
	return nil
}

func badURL(format string, args ...any) error {
	return &session.Error{
		Op: "open store", Err: session.ErrInvalid, Detail: "invalid URL: " + fmt.Sprintf(format, args...),
		Hint: "write it as mysql://user:password@host:3306/database",
	}
}
