package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

var (
	errTooLarge = fmt.Errorf("the header is longer than %d bytes", bufferSize)
	errLine     = errors.New("a line ends without a carriage return")
)

// peekHead waits for a complete header, including the empty line, without consuming it.
func peekHead(r *bufio.Reader) ([]byte, error) {
	for seen := 0; ; {
		if seen >= r.Size() {
			return nil, errTooLarge
		}
		if _, err := r.Peek(seen + 1); err != nil {
			return nil, err
		}
		b, _ := r.Peek(r.Buffered())
		from := max(0, seen-3)
		if i := bytes.Index(b[from:], []byte("\r\n\r\n")); i >= 0 {
			return b[:from+i+4], nil
		}
		seen = len(b)
	}
}

// peekRequestHead is peekHead for a client's request: it stops at the first line with an invalid
// ending.
func peekRequestHead(r *bufio.Reader) ([]byte, error) {
	for seen := 0; ; {
		if seen >= r.Size() {
			return nil, errTooLarge
		}
		if _, err := r.Peek(seen + 1); err != nil {
			return nil, err
		}
		b, _ := r.Peek(r.Buffered())
		for i := seen; i < len(b); i++ {
			switch {
			case b[i] != '\n':
			case i == 0 || b[i-1] != '\r':
				return nil, errLine
			case i >= 3 && b[i-2] == '\n':
				return b[:i+1], nil
			}
		}
		seen = len(b)
	}
}

// readRequest reads the header of one request. If two parsers could read a header differently, that
// is an error; the header is not repaired.
func readRequest(r *bufio.Reader) (*http.Request, error) {
	head, err := peekRequestHead(r)
	if err != nil {
		return nil, err
	}
	if err := checkHead(string(head)); err != nil {
		return nil, err
	}
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, err
	}
	if req.ProtoMajor != 1 {
		return nil, fmt.Errorf("%s is not supported", req.Proto)
	}
	return req, nil
}

// checkHead rejects invalid headers that http.ReadRequest accepts.
func checkHead(head string) error {
	lines := strings.Split(strings.TrimSuffix(head, "\r\n\r\n"), "\r\n")
	count := map[string]int{}
	for i, line := range lines {
		for _, b := range []byte(line) {
			if b < ' ' && b != '\t' || b == 0x7f {
				return fmt.Errorf("%q is not allowed in a header", b)
			}
		}
		if i == 0 {
			if strings.Count(line, " ") != 2 {
				return errors.New("the request line does not have three parts")
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return fmt.Errorf("%q is not a header", truncate.String(line, maxName))
		}
		name = strings.ToLower(name)
		count[name]++
		if name == "transfer-encoding" && !strings.EqualFold(strings.Trim(value, " \t"), "chunked") {
			return fmt.Errorf("Transfer-Encoding %q is unknown", truncate.String(value, maxName))
		}
	}
	switch {
	case count["transfer-encoding"] > 0 && !strings.HasSuffix(lines[0], " HTTP/1.1"):
		return errors.New("only HTTP/1.1 has Transfer-Encoding")
	case count["host"] > 1:
		return errors.New("duplicate Host header")
	case count["host"] == 0 && strings.HasSuffix(lines[0], " HTTP/1.1") && !strings.HasPrefix(lines[0], http.MethodConnect+" "):
		return errors.New("missing Host header")
	case count["content-length"]+count["transfer-encoding"] > 1:
		return errors.New("the request has two body lengths")
	}
	return nil
}

// isToken reports whether a text is a token of RFC 9110.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// absoluteTarget extracts the host and the port from an absolute-form request target. An unusual
// target is an error.
func absoluteTarget(uri string) (target, error) {
	scheme, rest, ok := strings.Cut(uri, "://")
	switch {
	case !ok:
		return target{}, errors.New("a proxy request needs an absolute URL")
	case strings.EqualFold(scheme, "https"):
		return target{}, errors.New("https requires CONNECT")
	case !strings.EqualFold(scheme, "http"):
		return target{}, fmt.Errorf("%q is not http", truncate.String(scheme, maxName))
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
	}
	if strings.ContainsAny(authority, "@#\\%") || strings.Contains(rest, "#") {
		return target{}, fmt.Errorf("%q is more than a host and a port", truncate.String(authority, maxName))
	}
	h, port, err := splitAuthority(authority, 80)
	return target{h, port}, err
}

// hopHeaders are the headers that apply to one connection only.
var hopHeaders = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Authentication-Info", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
}

// dropHop removes the headers that apply to one connection only.
func dropHop(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopHeaders {
		h.Del(name)
	}
}

// wantsWebSocket reports whether a request or a response switches to WebSocket.
func wantsWebSocket(h http.Header) bool {
	return len(h["Upgrade"]) == 1 && strings.EqualFold(h.Get("Upgrade"), "websocket") && hasToken(h["Connection"], "upgrade")
}

func hasToken(lists []string, token string) bool {
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(strings.TrimSpace(name), token) {
				return true
			}
		}
	}
	return false
}
