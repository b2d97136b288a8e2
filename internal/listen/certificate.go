package listen

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"
)

// Certificate is a TLS certificate in two files that can be reloaded while it is in use.
type Certificate struct {
	cert, key string
	now       atomic.Pointer[tls.Certificate]
}

// LoadCertificate reads a certificate with its chain, and the certificate's key. Both files are
// PEM.
func LoadCertificate(cert, key string) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key}
	return c, c.Reload()
}

// Reload reads the files again. If there is an error, the previous certificate stays in use.
func (c *Certificate) Reload() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return &Error{fmt.Sprintf("certificate %s with key %s: %v", c.cert, c.key, err), "use PEM files, and the private key of this certificate"}
	}
	c.now.Store(&pair)
	return nil
}

// Config returns a TLS configuration with this certificate. It allows TLS 1.2 or later, and only
// HTTP/1.1, which WebSockets need.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil },
	}
}
