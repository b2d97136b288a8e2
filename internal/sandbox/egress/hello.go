package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// tlsHandshake is the first byte that a TLS client sends.
const tlsHandshake = 0x16

// isTLS reports whether a tunnel's first byte starts TLS. Some servers accept other records before the
// ClientHello; readHello does not.
func isTLS(first byte) bool { return first >= 0x14 && first <= 0x18 }

// alertAccessDenied is sent to a TLS client whose server name is refused.
var alertAccessDenied = []byte{0x15, 3, 3, 0, 2, 2, 49}

// readHello reads a ClientHello with crypto/tls. It returns the server name in it, "" if there is
// none, and all bytes that it read.
func readHello(r io.Reader) (name string, hello []byte, err error) {
	var read bytes.Buffer
	done := errors.New("read")
	server := tls.Server(&readOnly{r: io.TeeReader(r, &read)}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name = h.ServerName
			return nil, done
		},
	})
	if err := server.HandshakeContext(context.Background()); !errors.Is(err, done) {
		return "", read.Bytes(), fmt.Errorf("its TLS ClientHello cannot be parsed: %w", err)
	}
	return name, read.Bytes(), nil
}

// readOnly is a connection that discards writes.
type readOnly struct{ r io.Reader }

func (c *readOnly) Read(b []byte) (int, error)       { return c.r.Read(b) }
func (c *readOnly) Write(b []byte) (int, error)      { return len(b), nil }
func (c *readOnly) Close() error                     { return nil }
func (c *readOnly) LocalAddr() net.Addr              { return nil }
func (c *readOnly) RemoteAddr() net.Addr             { return nil }
func (c *readOnly) SetDeadline(time.Time) error      { return nil }
func (c *readOnly) SetReadDeadline(time.Time) error  { return nil }
func (c *readOnly) SetWriteDeadline(time.Time) error { return nil }

// checkHello returns a refusal if TLS in a tunnel to a target must not name the given host, or nil
// if it may.
func (c *client) checkHello(t target, name string) *Refusal {
	why := Refusal{Host: t.host.String(), Port: t.port, Layer: -1}
	if name == "" {
		if t.host.IsAddr() {
			return nil
		}
		why.Reason = "the TLS connection inside does not name its host"
		return c.refuse(why)
	}
	h, err := ParseHost(name)
	switch {
	case err != nil:
		why.Reason = fmt.Sprintf("the TLS connection inside is for %q, which is not a host", truncate.String(name, maxName))
		return c.refuse(why)
	case h == t.host:
		return nil
	case t.host.IsAddr() && !h.IsAddr():
		return c.admit(target{h, t.port})
	}
	why.Reason = "the TLS connection inside is for " + strings.ToLower(h.String())
	return c.refuse(why)
}
