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

// Options select the daemon. If Socket, URL and Home are empty, the environment says which daemon
// to use: HOLDFAST_DAEMON_URL with HOLDFAST_DAEMON_TOKEN, or else the home folder in HOLDFAST_HOME,
// or else ~/.holdfast.
type Options struct {
	Home   string // the home folder of the daemon; the client connects to the daemon's unix socket
	Socket string // or the unix socket of the daemon
	URL    string // or the address of the daemon: https://host:port, or http:// for a daemon on this machine
	Token  string // a bearer token, for URL

	// Name is the client's name in the daemon's log and records, such as "cli".
	Name string
	// Getenv returns environment variables; default: os.Getenv.
	Getenv func(string) string
}

// dialTimeout is how long a daemon may take to accept a connection.
const dialTimeout = 10 * time.Second

// Dial finds the daemon and reads its description. It returns [ErrNoDaemon] if no daemon is
// running, and an error with a hint if the daemon has a different protocol version. It returns an
// *[api.Problem] if the daemon rejects the credential, and an *[Error] if the daemon does not
// answer. The caller closes the client.
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
		err = c.configureRemote(&opt)
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
		return nil, &versionError{Address: c.address, Version: c.info.Version, Protocol: c.info.Protocol}
	}
	return c, nil
}

// dialLocal connects to a unix socket. The connection with which Dial finds the daemon is also used
// for the first request.
func (c *Client) dialLocal(ctx context.Context, o *Options) error {
	path, conn, err := connect(ctx, o)
	if err != nil {
		return err
	}
	first := make(chan net.Conn, 1)
	first <- conn
	c.local, c.base, c.address = true, "http://holdfast", path
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

// connect connects to the daemon's socket: the given one, or that of the home folder. If there is no
// socket, this takes two system calls.
func connect(ctx context.Context, o *Options) (path string, conn net.Conn, err error) {
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
	if other := socketFromInfo(home); other != "" && other != path { // the daemon uses another path if the usual one would be too long
		if conn, err2 := dialSocket(ctx, other); err2 == nil {
			return other, conn, nil
		}
	}
	return path, nil, errNoDaemon(err)
}

// socketFromInfo returns the socket in the daemon's info file, or "".
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
	d := net.Dialer{Timeout: dialTimeout}
	return d.DialContext(ctx, "unix", path)
}

// errNoDaemon returns ErrNoDaemon for errors that mean that no process is listening.
func errNoDaemon(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EINVAL) {
		return ErrNoDaemon
	}
	return err
}

// configureRemote sets up the client for a daemon with a TCP address. A token is only sent over TLS, or to a
// daemon on this machine.
func (c *Client) configureRemote(o *Options) error {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.User != nil {
		return &api.Problem{Code: "usage", Detail: "invalid daemon address " + o.URL, Advice: "use https://HOST:PORT, or http://127.0.0.1:PORT"}
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return &api.Problem{Code: "usage", Detail: "refusing to send a token to " + u.Host + " without TLS", Advice: "use https://"}
	}
	c.token = o.Token
	if c.token == "" {
		c.token = o.Getenv("HOLDFAST_DAEMON_TOKEN")
	}
	if c.token == "" {
		return &api.Problem{Code: "usage", Detail: "no token for the daemon at " + u.Host, Advice: "set HOLDFAST_DAEMON_TOKEN; create a token with holdfast daemon token create"}
	}
	c.base, c.address = strings.TrimSuffix(u.String(), "/"), u.Host
	d := net.Dialer{Timeout: dialTimeout}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: d.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 16,
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: dialTimeout,
		},
		CheckRedirect: refuseRedirect,
	}
	return nil
}

// refuseRedirect rejects redirects: a daemon sends none, and the token must not be sent elsewhere.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
