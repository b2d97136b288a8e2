package egress

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// runClient runs an installed client with a new home folder.
func runClient(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		testneed.Need(t, "no %s on the PATH: apt-get install %s makes this run", name, name)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestCurl(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test", "xn--bcher-kva.example"))
	n.name("xn--bcher-kva.example", allowedIP)
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"http", []string{"--proxy", "http://" + r.addr, "http://allowed.test/x"}, "GET /x host=allowed.test"},
		{"http twice", []string{"--proxy", "http://" + r.addr, "http://allowed.test/x", "http://allowed.test/y"}, "GET /y host=allowed.test"},
		{"http in a tunnel", []string{"--proxytunnel", "--proxy", "http://" + r.addr, "http://allowed.test/x"}, "GET /x host=allowed.test"},
		{"https", []string{"--proxy", "http://" + r.addr, "https://allowed.test/x"}, "GET /x host=allowed.test"},
		{"https 1.1", []string{"--http1.1", "--proxy", "http://" + r.addr, "https://allowed.test/x"}, "GET /x host=allowed.test"},
		{"upload", []string{"--proxy", "http://" + r.addr, "--data-binary", "abc", "http://allowed.test/x"}, "body=abc"},
		{"upload with Expect", []string{"--proxy", "http://" + r.addr, "-H", "Expect: 100-continue", "-T", "-", "http://allowed.test/x"}, "PUT /x host=allowed.test"},
		{"socks", []string{"--socks5-hostname", r.addr, "https://allowed.test/x"}, "GET /x host=allowed.test"},
		{"socks, http", []string{"--socks5-hostname", r.addr, "http://allowed.test/x"}, "GET /x host=allowed.test"},
		{"port", []string{"--proxy", "socks5h://" + r.addr, "http://allowed.test:80/x"}, "GET /x host=allowed.test"},
		{"punycode", []string{"--proxy", "http://" + r.addr, "http://xn--bcher-kva.example/x"}, "host=xn--bcher-kva.example"},
		{"refused", []string{"--proxy", "http://" + r.addr, "http://evil.test/x"}, "the sandbox refused evil.test:80"},
		{"refused https", []string{"--proxy", "http://" + r.addr, "https://evil.test/x"}, "403"},
		{"refused socks", []string{"--socks5-hostname", r.addr, "https://evil.test/x"}, "(2)"},
		{"socks with an address", []string{"--socks5-hostname", r.addr, "http://127.0.0.1/x"}, "(2)"},
		{"SOCKS4", []string{"--socks4a", r.addr, "http://allowed.test/x"}, "SOCKS4"},
		{"fronting", []string{"--proxy", "http://" + r.addr, "--connect-to", "evil.test:443:allowed.test:443", "https://evil.test/x"}, "alert access denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, _ := runClient(t, t.TempDir(), "curl", append([]string{"-sSk", "--max-time", "20"}, tt.args...)...)
			if !strings.Contains(out, tt.want) {
				t.Errorf("got %s, want %s", out, tt.want)
			}
		})
	}
}

func TestGit(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "work"},
		{"-C", "work", "commit", "-q", "--allow-empty", "-m", "first"},
		{"clone", "-q", "--bare", "work", "repo.git"},
		{"-C", "repo.git", "update-server-info"},
	} {
		if out, err := runClient(t, dir, "git", args...); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	n := newFakeNetwork(t)
	n.web(http.FileServer(http.Dir(dir)))
	r := n.proxy(nil, allow("allowed.test"))
	for i, proxy := range []string{"http://" + r.addr, "socks5h://" + r.addr} {
		for j, url := range []string{"http://allowed.test/repo.git", "https://allowed.test/repo.git"} {
			to := filepath.Join(dir, "clone"+string(rune('a'+2*i+j)))
			out, err := runClient(t, dir, "git", "-c", "http.proxy="+proxy, "-c", "http.sslVerify=false", "clone", "-q", url, to)
			if err != nil {
				t.Errorf("%s through %s: %v: %s", url, proxy, err, out)
			}
			if log, err := runClient(t, to, "git", "log", "--format=%s"); err != nil || log != "first\n" {
				t.Errorf("got %q, %v", log, err)
			}
		}
	}
	if list := r.Refusals(); len(list) != 0 {
		t.Errorf("refused %v", list)
	}
	out, err := runClient(t, dir, "git", "-c", "http.proxy=http://"+r.addr, "clone", "-q", "https://evil.test/repo.git", "evil")
	if err == nil || !strings.Contains(out, "403") || r.reason() != "evil.test:443: no entry names it" {
		t.Errorf("got %s, %v; %s", out, err, r.reason())
	}
}

func TestNpm(t *testing.T) {
	tarball := npmPackage(t)
	sum := sha512.Sum512(tarball)
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hello":
			json.NewEncoder(w).Encode(map[string]any{
				"name": "hello", "dist-tags": map[string]string{"latest": "1.0.0"},
				"versions": map[string]any{"1.0.0": map[string]any{
					"name": "hello", "version": "1.0.0",
					"dist": map[string]string{
						"tarball":   "http://allowed.test/hello-1.0.0.tgz",
						"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
					},
				}},
			})
		case "/hello-1.0.0.tgz":
			w.Write(tarball)
		default:
			http.NotFound(w, r)
		}
	}))
	r := n.proxy(nil, allow("allowed.test"))
	dir := t.TempDir()
	install := func(registry string) (string, error) {
		return runClient(t, dir, "npm", "install", "hello", "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries=0",
			"--strict-ssl=false", "--registry="+registry, "--proxy=http://"+r.addr, "--https-proxy=http://"+r.addr)
	}
	for _, registry := range []string{"http://allowed.test/", "https://allowed.test/"} {
		os.RemoveAll(filepath.Join(dir, "node_modules"))
		if out, err := install(registry); err != nil {
			t.Fatalf("npm install from %s: %v: %s; %+v", registry, err, out, r.Refusals())
		}
		if b, err := os.ReadFile(filepath.Join(dir, "node_modules", "hello", "index.js")); err != nil || string(b) != "hello" {
			t.Errorf("got %q, %v", b, err)
		}
	}
	os.RemoveAll(filepath.Join(dir, ".npm"))
	if out, err := install("http://evil.test/"); err == nil || !strings.Contains(out, "403") {
		t.Errorf("got %v: %s", err, out)
	}
}

// npmPackage returns a package as a registry serves it.
func npmPackage(t *testing.T) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"package/package.json": `{"name":"hello","version":"1.0.0"}`, "package/index.js": "hello"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	w.Close()
	z.Close()
	return b.Bytes()
}
