package listen

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"
)

// Certificate is a TLS certificate in two files, which can be read anew while it is
// in use.
type Certificate struct {
	cert, key string
	now       atomic.Pointer[tls.Certificate]
}

// LoadCertificate reads a certificate with its chain, and its key, both PEM.
func LoadCertificate(cert, key string) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key}
	return c, c.Reload()
}

// Reload reads the files anew. After an error the certificate stays what it was.
func (c *Certificate) Reload() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return &Error{fmt.Sprintf("certificate %s with key %s: %v", c.cert, c.key, err), "both are PEM files, and the key is the certificate's own"}
	}
	c.now.Store(&pair)
	return nil
}

// Config is how a listener speaks TLS with it: 1.2 at least, HTTP/1.1 alone, as
// WebSockets need it.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil },
	}
}
