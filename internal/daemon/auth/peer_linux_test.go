package auth

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// The kernel identifies the peer: another uid is rejected, whatever credential it has.
func TestOtherUID(t *testing.T) {
	testneed.Root(t, "starting a program as another user")
	f := newFixture(t, nil)
	good, _ := f.make(api.Token{Scopes: []api.Scope{api.ScopeAdmin}})
	if err := os.Chmod(f.socket, 0o777); err != nil { // so that only the uid check can reject it
		t.Fatal(err)
	}
	program := filepath.Join(shortDir(t), "client")
	copyProgram(t, program)
	for name, header := range map[string]string{"nothing": "", "a token": "Authorization: Bearer " + good + "\r\n", "a host": "X-A: b\r\n"} {
		for _, path := range []string{"/v1/x", "/open"} {
			request := "GET " + path + " HTTP/1.1\r\nHost: holdfast\r\n" + header + "Connection: close\r\n\r\n"
			c := exec.Command(program)
			c.Env = []string{"AUTH_TEST_CHILD=get", "AUTH_TEST_NET=unix", "AUTH_TEST_ADDR=" + f.socket, "AUTH_TEST_REQUEST=" + request}
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			c.Dir = "/"
			got := output(t, c)
			if !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, "uid 65534 may not use this socket") {
				t.Errorf("%s with %s: %s", path, name, got)
			}
		}
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// A process below the daemon is an agent and may read, whatever way it connects.
func TestAgentPeer(t *testing.T) {
	f := newFixture(t, nil)
	admin, _ := f.make(api.Token{Scopes: []api.Scope{api.ScopeAdmin}})
	blind, _ := f.make(api.Token{Scopes: []api.Scope{api.ScopeApprove}})
	cookie, csrf := f.login()
	addr := f.tcp.Listener.Addr().String()
	withHost := func(host, header string) string {
		return "POST /v1/x HTTP/1.1\r\nHost: " + host + "\r\n" + header + "Content-Length: 0\r\nConnection: close\r\n\r\n"
	}
	for _, tt := range []struct{ name, network, addr, request, want string }{
		{"socket", "unix", f.socket, rawGet, "[read] agent=true"},
		{"socket and token", "unix", f.socket, withHost("holdfast", "Authorization: Bearer "+admin+"\r\n"), "[read] agent=true"},
		{"tcp and token", "tcp", addr, withHost(addr, "Authorization: Bearer "+admin+"\r\n"), "[read] agent=true"},
		{"tcp and a token that cannot look", "tcp", addr, withHost(addr, "Authorization: Bearer "+blind+"\r\n"), "[] agent=true"},
		{"tcp and cookie", "tcp", addr, withHost(addr, "Cookie: "+cookie+"\r\n"+CSRFHeader+": "+csrf+"\r\n"), "[read] agent=true"},
	} {
		for _, way := range []string{"child", "grandchild", "orphan"} {
			c := child(t, "AUTH_TEST_CHILD=get", "AUTH_TEST_NET="+tt.network, "AUTH_TEST_ADDR="+tt.addr, "AUTH_TEST_REQUEST="+tt.request)
			switch way {
			case "grandchild":
				c.Args = []string{"sh", "-c", `"$0"; exit $?`, c.Path}
			case "orphan": // the daemon is its subreaper, so it stays below
				c.Args = []string{"sh", "-c", `(setsid "$0") & wait`, c.Path}
			}
			if way != "child" {
				sh, err := exec.LookPath("sh")
				if err != nil {
					testneed.Need(t, "no sh on the PATH")
				}
				c.Path = sh
			}
			if got := output(t, c); !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.HasSuffix(got, tt.want) {
				t.Errorf("%s as %s: %s, want %s", tt.name, way, got, tt.want)
			}
		}
	}
	c := Caller{Scopes: []api.Scope{api.ScopeAdmin, api.ScopeApprove, api.ScopeRead, api.ScopeRun}, Agent: true}
	for _, s := range routes.Scopes() {
		if c.HasScope(s) != (s == api.ScopeRead) {
			t.Errorf("an agent may %s: %t", s, c.HasScope(s))
		}
	}
	if _, _, err := f.Link(t.Context(), Caller{Name: "a", Scopes: []api.Scope{api.ScopeAdmin}, Agent: true}); err == nil {
		t.Error("an agent created a login link")
	}
}

// The origin of a request is unknown if the connecting process passed the connection on and ended.
func TestPassedConnection(t *testing.T) {
	a, err := New(&Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	socket := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := child(t, "AUTH_TEST_CHILD=hand-on", "AUTH_TEST_ADDR="+socket, "AUTH_TEST_REQUEST="+rawGet)
	c.Stdout, c.Stderr = w, w
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s := &http.Server{Handler: a.Handler(whoami), ConnContext: a.ConnContext} // the connection waits until then
	go s.Serve(l)
	defer s.Close()
	if b, _ := io.ReadAll(r); !strings.HasSuffix(string(b), "[read] agent=true") {
		t.Errorf("%s", b)
	}
}

// The process that started the daemon, or an unrelated process, is not an agent.
func TestPeerOutsideNamespace(t *testing.T) {
	dir := shortDir(t)
	socket := filepath.Join(dir, "s")
	c := child(t, "AUTH_TEST_CHILD=serve", "AUTH_TEST_ADDR="+socket, "AUTH_TEST_DIR="+filepath.Join(dir, "run"))
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = c.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, rawGet)
	if b, _ := io.ReadAll(conn); !strings.Contains(string(b), "[admin approve read run] agent=false") {
		t.Errorf("%s", b)
	}
}

func TestParseStat(t *testing.T) {
	p, err := parseStat([]byte("12 (a) R 1 (b) S 34 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 5678 1 1\n"))
	if err != nil || p != (process{34, 5678}) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "1", "1 (a)", "1 (a) S 1", "1 (a) S x 1 1 0 -1 1 1 0 0 0 0 0 0 0 20 0 1 0 5 1"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was parsed", bad)
		}
	}
	if newProcessTree(os.Getpid()).includes(identity{pid: 0, fd: -1}) != true {
		t.Error("a process of another namespace is identified")
	}
	if newProcessTree(os.Getpid()).includes(identity{pid: 1, fd: -1}) {
		t.Error("process 1 is below the test")
	}
}

func TestEndOf(t *testing.T) {
	for want, ap := range map[string]struct {
		text string
		wide bool
	}{
		"0100007F:1F90":                         {"127.0.0.1:8080", false},
		"0200007F:1F90":                         {"[::ffff:127.0.0.2]:8080", false},
		"00000000000000000000000001000000:0001": {"[::1]:1", true},
		"0000000000000000FFFF00000100007F:1F90": {"127.0.0.1:8080", true},
		"0000000000000000FFFF00000100007F:1F91": {"[::ffff:127.0.0.1]:8081", true},
		"000080FE000000000000000001000000:0001": {"[fe80::1%eth0]:1", true},
	} {
		if got := endOf(netip.MustParseAddrPort(ap.text), ap.wide); got != want {
			t.Errorf("%s: %s, want %s", ap.text, got, want)
		}
	}
}

// A peer that ended before the check, and a connection of this process if it has the proxies of
// sandboxes, may be a run's: they may only read.
func TestUnknownPeer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here := newProcessTree(os.Getpid())
	through := processTree{root: os.Getpid(), includeSelf: true}
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ends := func() (netip.AddrPort, netip.AddrPort) {
		return netip.MustParseAddrPort(server.RemoteAddr().String()), netip.MustParseAddrPort(server.LocalAddr().String())
	}
	if here.hasSocket(ends()) {
		t.Error("a client that the daemon did not start is an agent")
	}
	if !through.hasSocket(ends()) {
		t.Error("a connection of the daemon itself is not treated as a run's")
	}
	if _, err := client.Write([]byte("POST / HTTP/1.1\r\n")); err != nil {
		t.Fatal(err)
	}
	client.Close()
	if !here.hasSocket(ends()) {
		t.Error("a peer that ended at once is not treated as an agent")
	}
	if !isLocalAddr(netip.MustParseAddr("127.3.2.1")) || !isLocalAddr(netip.MustParseAddr("::ffff:127.0.0.1")) || isLocalAddr(netip.MustParseAddr("192.0.2.1")) {
		t.Error("isLocalAddr is wrong")
	}
}
