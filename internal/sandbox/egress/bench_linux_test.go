//go:build amd64 || arm64

package egress

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// BenchmarkSandboxDownload compares downloads of curl in a sandbox through the listener in its network with
// direct downloads of curl outside. The rates are those that curl reports, so its start does not count.
func BenchmarkSandboxDownload(b *testing.B) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		testneed.Need(b, "no curl on the PATH: apt-get install curl makes this run")
	}
	n := newFakeNetwork(b)
	server := serveBytes(b)
	n.name("allowed.test", allowedIP)
	n.route(allowedIP+":80", server)
	inside := inJail(b, n)
	get := []string{curl, "-s", "-o", "/dev/null", "-w", "%{speed_download}", "--proxy"}
	rates := newRates(b, "direct", "HTTP", "CONNECT", "SOCKS")
	for b.Loop() {
		rates.round(func(kind string) float64 {
			var out string
			switch kind {
			case "direct":
				got, err := exec.Command(curl, append(get[1:], "", "http://"+server+"/")...).Output()
				if err != nil {
					b.Fatal(err)
				}
				out = string(got)
			case "HTTP":
				out = inside(append(get, "http://"+kernel.ProxyAddr, "http://allowed.test/")...)
			case "CONNECT":
				out = inside(append(get, "http://"+kernel.ProxyAddr, "--proxytunnel", "http://allowed.test/")...)
			case "SOCKS":
				out = inside(append(get, "socks5h://"+kernel.ProxyAddr, "http://allowed.test/")...)
			}
			rate, err := strconv.ParseFloat(out, 64)
			if err != nil || rate == 0 {
				b.Fatalf("%s: %q", kind, out)
			}
			return rate
		})
	}
	rates.report()
}

// inJail returns a function that runs a command whose only network is the proxy, and returns its output.
func inJail(t testing.TB, n *fakeNetwork) func(args ...string) string {
	t.Helper()
	if err := kernel.Namespaces(); err != nil {
		testneed.Need(t, "no namespaces here: %v", err)
	}
	rules, err := Compile(allow("allowed.test"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(rules, &Options{Resolve: n.resolve, Dial: n.dial})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	j, err := kernel.Prepare(&kernel.Policy{Read: []string{"/"}, Write: []string{dir}, Network: kernel.ProxyNetwork})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return func(args ...string) string {
		t.Helper()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		proc, err := j.Start(&kernel.Attr{
			Path: args[0], Args: args, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: dir, Files: []*os.File{nil, w, w},
			Serve: func(l net.Listener) { _ = p.Serve(context.Background(), l, nil) },
		})
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		out, _ := io.ReadAll(r)
		if s, err := proc.Wait(); err != nil || s.Status.ExitStatus() != 0 {
			t.Fatalf("%s: %v, %v: %s", strings.Join(args, " "), s, err, out)
		}
		return string(bytes.TrimSpace(out))
	}
}

// A command in the sandbox reaches what the rules allow, and nothing of the host's network.
func TestInsideSandbox(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		testneed.Need(t, "no curl on the PATH: apt-get install curl makes this run")
	}
	n := newFakeNetwork(t)
	plain, _ := n.web(http.HandlerFunc(echo))
	inside := inJail(t, n)
	code := []string{curl, "-s", "-o", "/dev/null", "-w", "%{http_code}", "--proxy", "http://" + kernel.ProxyAddr}
	for url, want := range map[string]string{
		"http://allowed.test/":             "200",
		"http://evil.test/":                "403",
		"http://localhost/":                "403",
		"http://169.254.169.254/":          "403",
		plain.URL:                          "403",
		"http://" + kernel.ProxyAddr + "/": "403", // the proxy itself, through itself
	} {
		if got := inside(append(code, "--noproxy", "", url)...); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
