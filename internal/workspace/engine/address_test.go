package engine

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificates writes ca.pem, and cert.pem and key.pem of a host and of a client, signed by that CA.
func writeCertificates(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	caKey, key := newKey(t), newKey(t)
	for name, c := range map[string]struct {
		made *x509.Certificate
		key  *ecdsa.PrivateKey
	}{"ca.pem": {authority, caKey}, "cert.pem": {leaf, key}} {
		der, err := x509.CreateCertificate(rand.Reader, c.made, authority, c.key.Public(), caKey)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	return dir
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Over TLS the engine gets the client certificate, the engine's certificate is verified if configured, and
// streams work as on a socket.
func TestTLS(t *testing.T) {
	hideEngines(t)
	dir, other := writeCertificates(t), writeCertificates(t)
	config, err := tlsConfig(func(k string) string { return map[string]string{"DOCKER_CERT_PATH": dir, "DOCKER_TLS_VERIFY": "1"}[k] })
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(execHandler(t, func(conn net.Conn, input *bufio.Reader) {
		_, _ = io.WriteString(conn, upgraded)
		in, _ := io.ReadAll(input)
		_, _ = io.WriteString(conn, frame(1, string(in)))
	}))
	srv.TLS = &tls.Config{Certificates: config.Certificates, ClientCAs: config.RootCAs, ClientAuth: tls.RequireAndVerifyClientCert}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	host := "tcp://" + srv.Listener.Addr().String()
	for _, tt := range []struct{ name, certs, verify, want string }{
		{"both are known", dir, "1", ""},
		{"known client certificate", dir, "", ""},
		{"theirs is not known", other, "1", "certificate"},
		{"unknown client certificate", other, "", "certificate"},
		{"without", "", "", "HTTPS"},
		{"no folder", filepath.Join(dir, "none"), "", "the certificates in DOCKER_CERT_PATH: open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("DOCKER_CERT_PATH", tt.certs)
			t.Setenv("DOCKER_TLS_VERIFY", tt.verify)
			e, err := Connect(t.Context(), host)
			if tt.want != "" {
				if !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			st := startExec(t, e)
			if _, err := io.WriteString(st, "over TLS"); err != nil {
				t.Fatal(err)
			}
			if err := st.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if out, err := io.ReadAll(st); err != nil || string(out) != "over TLS" {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
	t.Setenv("DOCKER_CERT_PATH", dir)
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	write(t, filepath.Join(dir, "ca.pem"), "nothing")
	if _, err := Connect(t.Context(), host); err == nil || !strings.Contains(err.Error(), "ca.pem contains no certificate") {
		t.Errorf("%v", err)
	}
}

// A tcp address may have a path, which prefixes the API's paths.
func TestTCP(t *testing.T) {
	hideEngines(t)
	t.Setenv("HTTP_PROXY", "")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/below/_ping", "/below/v" + maxAPI + "/containers/x/json":
			_, _ = io.WriteString(w, `{"Id":"x"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	e, err := Connect(t.Context(), "tcp://"+addr+"/below/")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if c, err := e.Inspect(t.Context(), "x"); err != nil || c.ID != "x" {
		t.Errorf("%+v, %v", c, err)
	}
	for host, want := range map[string]string{
		"tcp://" + addr:                         "404",
		"tcp://%zz:1":                           "invalid URL escape",
		"unix://" + strings.Repeat("/long", 50): "the socket path is longer than",
		"npipe:////./pipe/none":                 "",
	} {
		if _, err := Connect(t.Context(), host); !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", host, err)
		}
	}
}
