package call

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/model"
)

// Each cause of a connection that cannot be made has a sentence of its own.
func TestRemedies(t *testing.T) {
	dial := func(ip string, err error) error {
		return &url.Error{Op: "Post", URL: "http://x", Err: &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 11434}, Err: err}}
	}
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	clock := func() time.Time { return time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC) }
	for _, tt := range []struct {
		provider string
		err      error
		want     string
	}{
		{"ollama", dial("127.0.0.1", refused), "ollama is not running: ollama serve"},
		{"openai", dial("::1", refused), "start the model's server"},
		{"openai", dial("10.0.0.1", refused), ""},
		{"openai", dial("10.0.0.1", syscall.ETIMEDOUT), ""},
		{"openai", &net.DNSError{Name: "api.exmple.com", IsNotFound: true}, "no server has the name api.exmple.com"},
		{"openai", &net.DNSError{Name: "api.example.com", IsTimeout: true}, "the DNS of this machine does not answer"},
		{"openai", x509.CertificateInvalidError{Reason: x509.Expired}, "which says 2001-02-03 04:05:06 UTC"},
		{"openai", x509.UnknownAuthorityError{}, "SSL_CERT_FILE"},
		{"openai", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}, "for another name"},
	} {
		e := Provider{Name: tt.provider, Now: clock}.StreamBroken(t.Context(), fmt.Errorf("call: %w", tt.err))
		_, hint, _ := strings.Cut(e.Message, "; hint: ")
		if e.Kind != model.ErrorNetwork || !strings.Contains(hint, tt.want) || (hint == "") != (tt.want == "") {
			t.Errorf("%v: %q, want %q", tt.err, hint, tt.want)
		}
	}
}

// What no other attempt changes is not tried again.
func TestPagesAndEmptyAccounts(t *testing.T) {
	p := Provider{Name: "anthropic"}
	if e := p.WebPage(strings.NewReader("<title>Sign in</title>")); e.Retryable() || !strings.Contains(e.Message, "login in a browser") {
		t.Errorf("%v", e)
	}
	said := parseAPIError([]byte(`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`))
	if said.kind(400) != model.ErrorAuth {
		t.Errorf("no credit is %s", said.kind(400))
	}
}
