package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// newClient returns a client for an address: unix:///PATH, tcp://HOST:PORT or, on Windows,
// npipe:////./pipe/NAME. It sends nothing. For a tcp address TLS is used if DOCKER_CERT_PATH is
// set.
func newClient(scheme, rest string, env func(string) string) (*client, error) {
	c := &client{
		transport: &http.Transport{MaxIdleConns: 6, IdleConnTimeout: 30 * time.Second, DisableCompression: true},
		scheme:    "http",
		host:      "localhost", // HTTP needs a host name, and a socket has none
	}
	dialer := &net.Dialer{Timeout: shortTimeout}
	switch scheme {
	case "unix":
		if longest := len(syscall.RawSockaddrUnix{}.Path); len(rest) > longest {
			return nil, fmt.Errorf("the socket path is longer than %d bytes", longest)
		}
		c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", rest) }
	case "npipe":
		c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialPipe(ctx, rest) }
	default:
		u, err := url.Parse("tcp://" + rest)
		if err != nil {
			return nil, err
		}
		c.host, c.base = u.Host, strings.TrimRight(u.Path, "/")
		c.transport.DialContext, c.transport.DisableCompression = dialer.DialContext, false
		if c.transport.TLSClientConfig, err = tlsConfig(env); err != nil {
			return nil, err
		}
		if c.transport.TLSClientConfig != nil {
			c.scheme = "https"
		} else {
			c.transport.Proxy = http.ProxyFromEnvironment
		}
	}
	return c, nil
}

// tlsConfig returns the TLS configuration of DOCKER_CERT_PATH (a folder of certificates) and DOCKER_TLS_VERIFY
// (whether to verify the engine's certificate). It is nil without a folder.
func tlsConfig(env func(string) string) (*tls.Config, error) {
	dir := env("DOCKER_CERT_PATH")
	if dir == "" {
		return nil, nil
	}
	fail := func(err error) (*tls.Config, error) {
		return nil, fmt.Errorf("read the certificates in DOCKER_CERT_PATH: %w", err)
	}
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		return fail(err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	if env("DOCKER_TLS_VERIFY") == "" {
		config.InsecureSkipVerify = true // same as Docker's own programs
		return config, nil
	}
	if config.RootCAs, err = x509.SystemCertPool(); err != nil {
		return fail(err)
	}
	path := filepath.Join(dir, "ca.pem")
	b, err := os.ReadFile(path)
	if err != nil {
		return fail(err)
	}
	if !config.RootCAs.AppendCertsFromPEM(b) {
		return fail(fmt.Errorf("%s contains no certificate", path))
	}
	return config, nil
}
