package client

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

// Options say which daemon is meant. With none of Socket, URL and Home it is that of
// HOLDFAST_DAEMON_URL, with HOLDFAST_DAEMON_TOKEN; else that of HOLDFAST_HOME, or of
// ~/.holdfast.
type Options struct {
	Home   string // the daemon of this home, over its unix socket
	Socket string // or of this socket
	URL    string // or at this address: https://host:port, or http:// on this machine
	Token  string // a bearer token, for URL

	// Name is what the client calls itself, for the record: "cli".
	Name string
	// Getenv is where variables are looked up; default os.Getenv.
	Getenv func(string) string
}

// idleTimeout is how long a daemon may take to accept a connection.
const idleTimeout = 10 * time.Second

// Dial finds the daemon and asks it what it is. [ErrNoDaemon] when no daemon is there,
// an error with a hint when it speaks another protocol, *[api.Problem] when it lets nobody in
// with this credential, and *[Error] when it does not answer. The caller closes the client.
func Dial(ctx context.Context, o *Options) (*Client, error) {
	var opt Options
	if o != nil {
		opt = *o
	}
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	if opt.Socket == "" && opt.URL == "" && opt.Home == "" {
		opt.URL = opt.Getenv("HOLDFAST_DAEMON_URL")
	}
	c := &Client{name: opt.Name}
	var err error
	if opt.URL != "" {
		err = c.remote(&opt)
	} else {
		err = c.dialLocal(ctx, &opt)
	}
	if err != nil {
		return nil, err
	}
	if err := c.call(ctx, request{op: "getInfo"}, &c.info); err != nil {
		c.Close()
		if c.local && errors.Is(err, syscall.ECONNREFUSED) {
			return nil, ErrNoDaemon
		}
		return nil, err
	}
	if c.info.Protocol != protocol {
		c.Close()
		return nil, &versionError{Address: c.place, Version: c.info.Version, Protocol: c.info.Protocol}
	}
	return c, nil
}

// dialLocal connects to a unix socket. The connection that is found is the first that
// is used.
func (c *Client) dialLocal(ctx context.Context, o *Options) error {
	path, conn, err := find(ctx, o)
	if err != nil {
		return err
	}
	first := make(chan net.Conn, 1)
	first <- conn
	c.local, c.base, c.place = true, "http://holdfast", path
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				select {
				case conn := <-first:
					return conn, nil
				default:
					return dialSocket(ctx, path)
				}
			},
			DisableCompression: true, MaxIdleConns: 16, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: refuseRedirect,
	}
	return nil
}

// find connects to the daemon's socket: the one that is named, or that of the home.
// Where there is none that costs two calls of the system.
func find(ctx context.Context, o *Options) (path string, conn net.Conn, err error) {
	if o.Socket != "" {
		conn, err = dialSocket(ctx, o.Socket)
		return o.Socket, conn, errNoDaemon(err)
	}
	home := o.Home
	if home == "" {
		home = o.Getenv("HOLDFAST_HOME")
	}
	if home == "" {
		user := o.Getenv("HOME")
		if user == "" {
			return "", nil, ErrNoDaemon
		}
		home = filepath.Join(user, ".holdfast")
	}
	path = filepath.Join(home, "run", "daemon.sock")
	conn, err = dialSocket(ctx, path)
	if err == nil {
		return path, conn, nil
	}
	if other := socketFromInfo(home); other != "" && other != path { // its path would have been too long
		if conn, err2 := dialSocket(ctx, other); err2 == nil {
			return other, conn, nil
		}
	}
	return path, nil, errNoDaemon(err)
}

// socketFromInfo is the socket that the daemon's own file names, or "".
func socketFromInfo(home string) string {
	b, err := os.ReadFile(filepath.Join(home, "run", "daemon.json"))
	if err != nil {
		return ""
	}
	var doc struct {
		Socket string `json:"socket"`
	}
	if json.Unmarshal(b, &doc) != nil {
		return ""
	}
	return doc.Socket
}

func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	d := net.Dialer{Timeout: idleTimeout}
	return d.DialContext(ctx, "unix", path)
}

// errNoDaemon makes ErrNoDaemon of what says that nobody listens.
func errNoDaemon(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EINVAL) {
		return ErrNoDaemon
	}
	return err
}

// remote is a daemon at an address. A token is sent over TLS, or on this machine.
func (c *Client) remote(o *Options) error {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.User != nil {
		return &api.Problem{Code: "usage", Detail: "the daemon's address " + o.URL + " is none", Advice: "https://HOST:PORT, or http://127.0.0.1:PORT"}
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return &api.Problem{Code: "usage", Detail: "a token is not sent to " + u.Host + " without TLS", Advice: "use https://"}
	}
	c.token = o.Token
	if c.token == "" {
		c.token = o.Getenv("HOLDFAST_DAEMON_TOKEN")
	}
	if c.token == "" {
		return &api.Problem{Code: "usage", Detail: "there is no token for the daemon at " + u.Host, Advice: "set HOLDFAST_DAEMON_TOKEN; holdfast daemon token create makes one"}
	}
	c.base, c.place = strings.TrimSuffix(u.String(), "/"), u.Host
	d := net.Dialer{Timeout: idleTimeout}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: d.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 16,
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: idleTimeout,
		},
		CheckRedirect: refuseRedirect,
	}
	return nil
}

// refuseRedirect: a daemon sends nobody elsewhere, and a token goes nowhere else.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
