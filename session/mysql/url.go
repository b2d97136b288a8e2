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

// address is what a URL says.
type address struct {
	shown   string // the URL without the password
	config  *mysql.Config
	conns   int  // 0 when it says nothing
	relaxed bool // servers that acknowledge before they sync will do
}

// nopLogger is the driver's log: what it tells is told by errors, too.
type nopLogger struct{}

func (nopLogger) Print(...any) {}

// parse reads mysql://user:password@host:port/database?parameters. The errors never
// show what may be a password.
func parse(text string) (*address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" || u.Opaque != "" {
		return nil, badURL("it does not begin as mysql://user:password@host:port/database; special characters of a password are written as %%40 and so on")
	}
	if before, _, _ := strings.Cut(text, "?"); u.User == nil && strings.Contains(before, "@") {
		return nil, badURL("its @ does not end a user and password; special characters of a password are written as %%2F and so on")
	}
	a := &address{shown: u.Redacted(), config: mysql.NewConfig()}
	c := a.config
	c.DBName = strings.TrimPrefix(u.Path, "/")
	switch {
	case c.DBName == "" || strings.Contains(c.DBName, "/"):
		return nil, badURL("it names no database: mysql://user:password@host:port/database")
	case len(c.DBName) > 64:
		return nil, badURL("the name of the database is longer than 64 bytes")
	case u.Fragment != "":
		return nil, badURL("it has a fragment (#); in a password that is %%23")
	}
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr = "tcp", net.JoinHostPort(u.Hostname(), "3306")
	if p := u.Port(); p != "" {
		c.Addr = net.JoinHostPort(u.Hostname(), p)
	}
	c.Timeout = 10 * time.Second
	c.MultiStatements, c.InterpolateParams, c.ClientFoundRows = true, true, true
	c.MaxAllowedPacket = 0 // as the server says
	c.Logger = nopLogger{}
	if err := c.Apply(mysql.Charset("binary", "")); err != nil {
		return nil, badURL("%v", err)
	}
	if err := a.parameters(u); err != nil {
		return nil, err
	}
	if c.Net == "tcp" && u.Hostname() == "" {
		return nil, badURL("it names no host")
	}
	return a, nil
}

// parameters reads what stands behind the question mark. Each may be there once; others
// are refused.
func (a *address) parameters(u *url.URL) error {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return badURL("what stands behind ? cannot be read")
	}
	for name, v := range values {
		if len(v) != 1 {
			return badURL("%s is there %d times", name, len(v))
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
			return badURL("it names a socket and a host")
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
			return badURL("conns=%s: want a number from 1 on", value)
		}
		a.conns = n
	case "durability":
		if value != "full" && value != "relaxed" {
			return badURL("durability=%s: want full or relaxed", value)
		}
		a.relaxed = value == "relaxed"
	default:
		return badURL("the parameter %q is unknown: there are tls, tls-ca, socket, timeout, conns and durability", name)
	}
	return nil
}

// trust makes the certificates of a file those that a server's must be signed by.
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
		Op: "open store", Err: session.ErrInvalid, Detail: "the URL: " + fmt.Sprintf(format, args...),
		Hint: "write it as mysql://user:password@host:3306/database",
	}
}
