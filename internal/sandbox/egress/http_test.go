package egress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// echo answers with the request as the server saw it.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s host=%s body=%s\n", r.Method, r.RequestURI, r.Host, body)
	names := []string{}
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(w, "%s: %s\n", name, strings.Join(r.Header[name], "|"))
	}
}

func TestForward(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	for _, tt := range []struct{ name, request, want string }{
		{"plain", "GET http://allowed.test/a%2Fb?q=%20 HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "GET /a%2Fb?q=%20 host=allowed.test body=\n"},
		{"no path", "GET http://Allowed.TEST.:80 HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "GET / host=allowed.test body=\n"},
		{"scheme in capitals", "GET HTTP://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "GET / host=allowed.test body=\n"},
		{"another Host", "GET http://allowed.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "GET / host=allowed.test body=\n"},
		{"HTTP/1.0", "GET http://allowed.test/ HTTP/1.0\r\n\r\n", "GET / host=allowed.test body=\n"},
		{"a body", "POST http://allowed.test/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "POST / host=allowed.test body=abc\nContent-Length: 3\n"},
		{"chunks", "POST http://allowed.test/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "POST / host=allowed.test body=abc\n"},
		{"an empty body", "POST http://allowed.test/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "POST / host=allowed.test body=\nContent-Length: 0\n"},
		{
			"headers of the connection",
			"GET http://allowed.test/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nConnection: close, X-Private\r\n" +
				"X-Private: 1\r\nX-Kept: 2\r\nKeep-Alive: 5\r\nTE: gzip\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
			"GET / host=allowed.test body=\nX-Kept: 2\n",
		},
		{"double slash", "GET http://allowed.test//evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET //evil.test/ host=allowed.test body=\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := r.connect(t).send(tt.request).answer("GET")
			if resp.StatusCode != http.StatusOK || body != tt.want {
				t.Errorf("got %s %q, want %q", resp.Status, body, tt.want)
			}
		})
	}
	if list := r.Refusals(); len(list) != 0 {
		t.Errorf("refused %v", list)
	}
}

func TestRefusedRequest(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	resp, body := r.connect(t).send("GET http://evil.test/x HTTP/1.1\r\nHost: allowed.test\r\n\r\n").answer("GET")
	const want = "the sandbox refused evil.test:80: no entry names it (network.allowedDomains)\n" +
		"hint: to allow this, add \"evil.test\" to network.allowedDomains\n"
	if resp.StatusCode != http.StatusForbidden || resp.Header.Get(RefusedHeader) != "evil.test:80" || body != want {
		t.Errorf("got %s %v %q", resp.Status, resp.Header, body)
	}
	if lookups, dials := n.seen(); len(lookups)+len(dials) != 0 {
		t.Errorf("looked up %v, connected to %v", lookups, dials)
	}
	fetch(t, r.client(t), "GET", "http://evil.test/y")
	list := r.Refusals()
	if len(list) != 1 || list[0].Count != 2 || list[0].Host != "evil.test" || list[0].Port != 80 || list[0].Layer != 0 {
		t.Errorf("got %+v", list)
	}
	if log := r.log.String(); !strings.Contains(log, `"command":"command-7","host":"evil.test","port":80`) {
		t.Errorf("logged %s", log)
	}
}

// A request that two parsers could read differently is never passed on.
func TestBadRequests(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	const head, end = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n", "\r\n"
	for name, request := range map[string]string{
		"origin form":               "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"asterisk":                  "OPTIONS * HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"authority only":            "GET allowed.test:80 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"https":                     "GET https://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"ftp":                       "GET ftp://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"file":                      "GET file:///etc/passwd HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"userinfo":                  "GET http://allowed.test@evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"userinfo of the allowed":   "GET http://u:p@allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"fragment":                  "GET http://allowed.test#@evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"backslash":                 "GET http://allowed.test\\@evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"percent":                   "GET http://allowed%2etest/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"no host":                   "GET http:///x HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"port 0":                    "GET http://allowed.test:0/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"large port":                "GET http://allowed.test:65616/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"empty port":                "GET http://allowed.test:/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"NUL":                       "GET http://allowed.test\x00.evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"a space in the target":     "GET http://allowed.test/ x HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"a tab in the target":       "GET http://allowed.test/\tx HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"CR alone":                  "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nX: a\rHost: evil.test\r\n\r\n",
		"LF alone":                  "GET http://allowed.test/ HTTP/1.1\nHost: allowed.test\n\n",
		"LF in a header":            head + "X: a\nHost: evil.test\r\n" + end,
		"both lengths":              "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two lengths":               "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
		"length list":               "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4, 4\r\n\r\nabcd",
		"signed length":             "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\nabcd",
		"negative length":           "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
		"two encodings":             "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"unknown encoding":          "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"odd encoding":              "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"encoding with vertical":    "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
		"a space before the colon":  head + "X-A : b\r\n" + end,
		"length with a space":       "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nContent-Length : 4\r\n\r\nabcd",
		"folded":                    head + "X-A: b\r\n c\r\n" + end,
		"no name":                   head + ": b\r\n" + end,
		"no colon":                  head + "X-A\r\n" + end,
		"two hosts":                 head + "Host: evil.test\r\n" + end,
		"no Host":                   "GET http://allowed.test/ HTTP/1.1\r\n\r\n",
		"HTTP/2":                    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/1.2":                  "GET http://allowed.test/ HTTP/3.0\r\nHost: a\r\n\r\n",
		"HTTP/0.9":                  "GET http://allowed.test/\r\n\r\n",
		"no method":                 " http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT with a body":       "CONNECT allowed.test:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
		"CONNECT without a port":    "CONNECT allowed.test HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT to a URL":          "CONNECT http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT with a path":       "CONNECT allowed.test:443/x HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT with userinfo":     "CONNECT a@allowed.test:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"an empty line first":       "\r\n" + head + end,
		"encoding in HTTP/1.0":      "POST http://allowed.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a second request is worse": "GET /x HTTP/1.1\r\nHost: allowed.test\r\n\r\n" + head + end,
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := r.connect(t).send(request).answer("GET")
			if resp.StatusCode != http.StatusBadRequest || !resp.Close {
				t.Errorf("got %s %q", resp.Status, body)
			}
		})
	}
	if lookups, dials := n.seen(); len(lookups)+len(dials) != 0 {
		t.Errorf("looked up %v, connected to %v", lookups, dials)
	}
}

func TestLargeHead(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	big := strings.Repeat("x", bufferSize)
	resp, _ := r.connect(t).send("GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\nX: " + big + "\r\n\r\n").answer("GET")
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %s", resp.Status)
	}
	fits := strings.Repeat("x", bufferSize-200)
	resp, _ = r.connect(t).send("GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\nX: " + fits + "\r\n\r\n").answer("GET")
	if resp.StatusCode != http.StatusOK {
		t.Errorf("got %s", resp.Status)
	}
}

// Each request of a connection is checked, and connections to servers are kept.
func TestKeepAlive(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	p := r.connect(t)
	p.send(strings.Repeat("GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n", 3))
	for range 3 {
		if resp, _ := p.answer("GET"); resp.StatusCode != http.StatusOK || resp.Close {
			t.Fatalf("got %s, close %v", resp.Status, resp.Close)
		}
	}
	if _, dials := n.seen(); len(dials) != 1 {
		t.Errorf("connected to %v", dials)
	}
	resp, _ := p.send("GET http://evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n").answer("GET")
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %s", resp.Status)
	}
	if rest := p.rest(); rest != "" {
		t.Errorf("more came: %q", rest)
	}
}

// If a server has closed a kept connection, the proxy connects again.
func TestKeptConnectionClosed(t *testing.T) {
	n := newFakeNetwork(t)
	plain, _ := n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	p := r.connect(t)
	for range 2 {
		if resp, _ := p.send("GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET"); resp.StatusCode != http.StatusOK {
			t.Fatalf("got %s", resp.Status)
		}
		plain.CloseClientConnections()
	}
}

func TestAnswers(t *testing.T) {
	n := newFakeNetwork(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	n.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			w.Header().Set("Content-Length", fmt.Sprint(len(large)))
			w.Write(large)
		case "/chunked":
			w.Header().Set("Trailer", "X-Sum")
			for i := 0; i < len(large); i += 100_000 {
				w.Write(large[i:min(i+100_000, len(large))])
				w.(http.Flusher).Flush()
			}
			w.Header().Set("X-Sum", "42")
		case "/close":
			conn, rw, _ := w.(http.Hijacker).Hijack()
			rw.WriteString("HTTP/1.0 200 OK\r\nProxy-Connection: x\r\n\r\n")
			rw.Write(large)
			rw.Flush()
			conn.Close()
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/early":
			w.Header().Set("Link", "</x>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.Write([]byte("late"))
		case "/gone":
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		case "/switch":
			conn, rw, _ := w.(http.Hijacker).Hijack()
			rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
			rw.Flush()
			conn.Close()
		}
	}))
	r := n.proxy(nil, allow("allowed.test"))
	client := r.client(t)
	for _, path := range []string{"/large", "/chunked", "/close", "/large"} {
		resp, body := fetch(t, client, "GET", "http://allowed.test"+path)
		if body != string(large) || resp.Header.Get("Proxy-Connection") != "" {
			t.Errorf("%s: %d bytes, %v", path, len(body), resp.Header)
		}
		if path == "/chunked" && resp.Trailer.Get("X-Sum") != "42" {
			t.Errorf("trailer %v", resp.Trailer)
		}
	}
	for path, want := range map[string]int{"/empty": 204, "/early": 200, "/gone": 502, "/switch": 502} {
		if resp, _ := fetch(t, client, "GET", "http://allowed.test"+path); resp.StatusCode != want {
			t.Errorf("%s: %v", path, resp)
		}
	}
	if resp, _ := fetch(t, client, "HEAD", "http://allowed.test/large"); resp.Length != int64(len(large)) {
		t.Errorf("HEAD: %v", resp)
	}
}

// Events reach the client while the server is still sending.
func TestStreamNotBuffered(t *testing.T) {
	n := newFakeNetwork(t)
	next := make(chan bool)
	n.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			io.WriteString(w, "data: x\n\n")
			w.(http.Flusher).Flush()
			<-next
		}
	}))
	r := n.proxy(nil, allow("allowed.test"))
	resp, err := r.client(t).Get("http://allowed.test/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return
		}
		if line == "data: x\n" {
			next <- true
		}
	}
}

func TestExpectContinue(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			http.Error(w, "no", http.StatusRequestEntityTooLarge)
			return
		}
		echo(w, r)
	}))
	r := n.proxy(nil, allow("allowed.test"))
	p := r.connect(t)
	p.send("POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
	if line, _ := p.r.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q", line)
	}
	p.r.ReadString('\n')
	if resp, body := p.send("abc").answer("POST"); resp.StatusCode != http.StatusOK || !strings.Contains(body, "body=abc") {
		t.Errorf("got %s %q", resp.Status, body)
	}
	resp, _ := r.connect(t).send("POST http://evil.test/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n").answer("POST")
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %s", resp.Status)
	}
}

func TestWebSocket(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !wantsWebSocket(r.Header) {
			http.Error(w, "no upgrade", http.StatusBadRequest)
			return
		}
		conn, rw, _ := w.(http.Hijacker).Hijack()
		defer conn.Close()
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n")
		rw.Flush()
		line, _ := rw.ReadString('\n')
		io.WriteString(conn, "echo "+line)
	}))
	r := n.proxy(nil, allow("allowed.test"))
	const upgrade = " HTTP/1.1\r\nHost: allowed.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n"
	for _, p := range []*peer{
		r.connect(t).send("GET http://allowed.test/ws" + upgrade),
		r.tunnel(t, "allowed.test:80").send("GET /ws" + upgrade),
	} {
		resp, _ := p.answer("GET")
		if resp.StatusCode != http.StatusSwitchingProtocols || !wantsWebSocket(resp.Header) || resp.Header.Get("Sec-WebSocket-Accept") != "x" {
			t.Fatalf("got %s %v", resp.Status, resp.Header)
		}
		if got := p.send("hello\n").rest(); got != "echo hello\n" {
			t.Errorf("got %q", got)
		}
	}
}

// A server that answers before it has the whole body ends the connection, and the client gets the response.
func TestEarlyAnswer(t *testing.T) {
	n := newFakeNetwork(t)
	l := listen(t)
	n.name("allowed.test", allowedIP)
	n.route(allowedIP+":80", l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(conn))
			io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
		}
	}()
	r := n.proxy(nil, allow("allowed.test"))
	p := r.connect(t).send("POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc")
	if resp, body := p.answer("POST"); resp.StatusCode != http.StatusRequestEntityTooLarge || body != "no" {
		t.Errorf("got %s %q", resp.Status, body)
	}
	if rest := p.rest(); rest != "" {
		t.Errorf("more came: %q", rest)
	}
}

func TestUnreachable(t *testing.T) {
	n := newFakeNetwork(t)
	n.name("closed.test", allowedIP)
	n.name("empty.test")
	n.route(allowedIP+":80", "127.0.0.1:1")
	r := n.proxy(nil, allow("*"))
	for url, want := range map[string]string{
		"http://closed.test/": "the sandbox allows closed.test:80, but cannot connect to closed.test:80: dial tcp",
		"http://empty.test/":  "cannot find empty.test:80",
		"http://absent.test/": "cannot find absent.test:80",
	} {
		resp, body := r.connect(t).send("GET " + url + " HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
		if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, want) || resp.Header.Get(RefusedHeader) != "" {
			t.Errorf("%s: %s %q", url, resp.Status, body)
		}
	}
	if list := r.Refusals(); len(list) != 0 {
		t.Errorf("refused %+v", list)
	}
}

func TestConnectTimesOut(t *testing.T) {
	n := newFakeNetwork(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts nothing and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := n.proxy(&Options{HTTPUpstream: l.Addr().(*net.TCPAddr).Port, Limits: Limits{ConnectTime: 50 * time.Millisecond}}, allow("*"))
	resp, _ := r.connect(t).send("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\n\r\n").answer("CONNECT")
	if resp.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("got %s", resp.Status)
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add("GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n")
	f.Add("POST http://a:80/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	f.Add("CONNECT [::1]:443 HTTP/1.0\r\n\r\n")
	f.Add("GET http://a@b\\c#d HTTP/1.1\r\nHost: a\nX: y\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := bufio.NewReaderSize(strings.NewReader(text), bufferSize)
		req, err := readRequest(r)
		if err != nil {
			return
		}
		to, err := requestTarget(req, nil)
		if err != nil || req.Method == http.MethodConnect {
			return
		}
		c := &client{}
		c.prepare(req, to, false)
		var out bytes.Buffer
		req.Body = http.NoBody
		req.ContentLength, req.TransferEncoding = 0, nil
		if req.Write(&out) != nil {
			return
		}
		sent := bufio.NewReader(&out)
		again, err := http.ReadRequest(sent)
		if err != nil {
			t.Fatalf("%q became unreadable: %v", text, err)
		}
		h, port, err := splitAuthority(again.Host, 80)
		if err != nil || (target{h, port}) != to {
			t.Errorf("%q was judged as %s and sent to %q", text, to, again.Host)
		}
		if _, err := sent.ReadByte(); err != io.EOF {
			t.Errorf("%q became more than one request", text)
		}
	})
}
