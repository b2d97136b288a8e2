package s3

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A server whose certificate is not trusted, or that speaks no TLS, is asked once. The
// certificate may be in a file.
func TestTLS(t *testing.T) {
	var asked atomic.Int64
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.ProtoMajor != 1 {
			t.Errorf("HTTP/%d", r.ProtoMajor)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	quiet := func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = nil
		s.EnableHTTP2 = true
		t.Cleanup(s.Close)
		return s
	}
	secure, plain := quiet(answer), quiet(answer)
	secure.StartTLS()
	plain.Start()
	t.Setenv("SSL_CERT_FILE", "")
	remove := func(address string) error {
		t.Helper()
		c, err := New(Options{Bucket: "bucket", Endpoint: address, Keys: testKeys})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		return c.Delete(t.Context(), "key")
	}
	if err := remove(secure.URL); err == nil || worthRetrying(err) {
		t.Errorf("a certificate of nobody: %v", err)
	}
	if err := remove("https" + strings.TrimPrefix(plain.URL, "http")); err == nil || worthRetrying(err) {
		t.Errorf("no TLS: %v", err)
	}
	if err := remove(plain.URL); err != nil || asked.Load() != 1 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	if err := remove(secure.URL); err != nil || asked.Load() != 2 {
		t.Errorf("with its certificate: %v after %d requests", err, asked.Load())
	}
}

// An object whose name says that it is packed is read as it is.
func TestNoDecompression(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("it asks for %s", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "as it is")
	}))
	defer s.Close()
	c, err := New(Options{Bucket: "bucket", Endpoint: s.URL, Keys: testKeys})
	if err != nil {
		t.Fatal(err)
	}
	if b, _, err := c.Get(t.Context(), "key", 0, -1); err != nil || string(b) != "as it is" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestProxy(t *testing.T) {
	tr, err := transport(true)
	if err != nil {
		t.Fatal(err)
	}
	if tr.Proxy == nil { // of the environment, which net/http reads once in a program
		t.Error("proxies of the environment are not used")
	}
}
