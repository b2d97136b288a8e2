package openai_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/openai"
)

// certificate makes one that signs itself, for a name and a time.
func certificate(t *testing.T, name string, from, to time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{name}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if ip := net.ParseIP(name); ip != nil {
		c.DNSNames, c.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Each cause of a call that fails, from a server that has it: one sentence and what to do.
func TestCauses(t *testing.T) {
	now := time.Now()
	says := func(status int, kind, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		})
	}
	plain := func(h http.Handler) func(t *testing.T) (string, *http.Client) {
		return func(t *testing.T) (string, *http.Client) {
			s := httptest.NewServer(h)
			t.Cleanup(s.Close)
			return s.URL, nil
		}
	}
	secure := func(name string, from, to time.Time, trusted bool) func(t *testing.T) (string, *http.Client) {
		return func(t *testing.T) (string, *http.Client) {
			c := certificate(t, name, from, to)
			s := httptest.NewUnstartedServer(says(200, "application/json", "{}"))
			s.TLS = &tls.Config{Certificates: []tls.Certificate{c}}
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			t.Cleanup(s.Close)
			roots := x509.NewCertPool()
			if trusted {
				roots.AddCert(c.Leaf)
			}
			return s.URL, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
		}
	}
	closed := func(t *testing.T) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return "http://" + l.Addr().String()
	}
	for _, tt := range []struct {
		name, provider string
		server         func(t *testing.T) (string, *http.Client)
		kind           model.ErrorKind
		hint           string
	}{
		{"wrong key", "groq", plain(says(401, "application/json", `{"error":{"message":"no"}}`)), model.ErrorAuth, "check that the key is complete and belongs to this provider: holdfast login groq, or set GROQ_API_KEY"},
		{"wrong key of one's own provider", "corp", plain(says(401, "application/json", `{"error":{"message":"no"}}`)), model.ErrorAuth, "holdfast login corp"},
		{"no right", "groq", plain(says(403, "application/json", `{"error":{"message":"no"}}`)), model.ErrorAuth, "the key is valid but not permitted to do this"},
		{"no credit", "openrouter", plain(says(402, "application/json", `{"error":{"message":"Insufficient credits","code":402}}`)), model.ErrorAuth, "no credit left"},
		{"quota", "openai", plain(says(429, "application/json", `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`)), model.ErrorAuth, "no credit left"},
		{"rate limit", "openai", plain(says(429, "application/json", `{"error":{"message":"slow down","type":"rate_limit"}}`)), model.ErrorRateLimit, "holdfast run -c"},
		{"proxy page", "openai", plain(says(200, "text/html; charset=utf-8", `<html><title>Guest Wi-Fi</title></html>`)), model.ErrorMalformed, "the network may require a login in a browser first"},
		{"not yet valid", "openai", secure("127.0.0.1", now.AddDate(1, 0, 0), now.AddDate(2, 0, 0), true), model.ErrorNetwork, "check the clock of this machine"},
		{"expired", "openai", secure("127.0.0.1", now.AddDate(-2, 0, 0), now.AddDate(-1, 0, 0), true), model.ErrorNetwork, "check the clock of this machine"},
		{"unknown authority", "openai", secure("127.0.0.1", now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0), false), model.ErrorNetwork, "SSL_CERT_FILE"},
		{"another name", "openai", secure("other.example", now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0), true), model.ErrorNetwork, "for another name"},
		{"not TLS", "openai", func(t *testing.T) (string, *http.Client) {
			address, _ := plain(says(200, "", ""))(t)
			return strings.Replace(address, "http:", "https:", 1), nil
		}, model.ErrorNetwork, "write http:// in the base URL"},
		{"Ollama does not run", "ollama", func(t *testing.T) (string, *http.Client) { return closed(t), nil }, model.ErrorNetwork, "ollama is not running: ollama serve"},
		{"LM Studio does not run", "lmstudio", func(t *testing.T) (string, *http.Client) { return closed(t), nil }, model.ErrorNetwork, "lmstudio is not running: lms server start"},
		{"nothing listens", "corp", func(t *testing.T) (string, *http.Client) { return closed(t), nil }, model.ErrorNetwork, "no server is listening there"},
		{"the proxy is gone", "openai", func(t *testing.T) (string, *http.Client) {
			proxy, err := url.Parse(closed(t))
			if err != nil {
				t.Fatal(err)
			}
			return "https://api.example.com", &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
		}, model.ErrorNetwork, "check HTTPS_PROXY"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			address, client := tt.server(t)
			m, err := openai.New("m", &openai.Options{BaseURL: address + "/v1", APIKey: "made-up-key", Provider: tt.provider, HTTPClient: client})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range m.Stream(t.Context(), &model.Request{}) {
				e, ok := errors.AsType[*model.Error](err)
				if !ok || e.Kind != tt.kind {
					t.Fatalf("%v", err)
				}
				_, hint, _ := strings.Cut(e.Message, "; hint: ")
				if hint == "" {
					hint = outcome.Hint(err)
				}
				if !strings.Contains(hint, tt.hint) {
					t.Errorf("%v\nhint %q, want %q", err, hint, tt.hint)
				}
			}
		})
	}
}
