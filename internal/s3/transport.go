package s3

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"time"
)

// transport returns the default transport of net/http, but with more connections per host. It
// disables compression, because the exact bytes are needed. It uses HTTP/1.1.
func transport(secure bool) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   16,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       time.Minute,
		TLSHandshakeTimeout:   10 * time.Second,
		DisableCompression:    true,
	}
	if !secure {
		return t, nil
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if file := os.Getenv("SSL_CERT_FILE"); file != "" { // crypto/x509 reads it only on Unix
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, err
		}
		if pem, err := os.ReadFile(file); err == nil {
			pool.AppendCertsFromPEM(pem)
		}
		t.TLSClientConfig.RootCAs = pool
	}
	return t, nil
}
