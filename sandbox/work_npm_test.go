//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// registry serves one package to npm, as registry.npmjs.org does.
type registry struct {
	*httptest.Server
	integrity string
	token     string // without it no one can log in

	mu    sync.Mutex
	asked []string
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	pack := tarball(t, map[string]string{
		"package/package.json": `{"name":"seven","version":"1.0.0","main":"index.js"}`,
		"package/index.js":     "module.exports = 7\n",
	})
	sum := sha512.Sum512(pack)
	r := &registry{integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /seven", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"seven","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"seven","version":"1.0.0",`+
			`"dist":{"tarball":"%s/seven-1.0.0.tgz","integrity":%q}}}}`, r.URL, r.integrity)
	})
	mux.HandleFunc("GET /@acme%2fseven", func(w http.ResponseWriter, q *http.Request) {
		fmt.Fprint(w, `{"name":"@acme/seven","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"@acme/seven","version":"1.0.0"}}}`)
	})
	mux.HandleFunc("GET /seven-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pack) })
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, q.URL.Path)
		r.mu.Unlock()
		if r.token != "" && q.Header.Get("Authorization") != "Bearer "+r.token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		if _, err2 := w.Write([]byte(text)); err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWorkNpm checks that the real npm downloads a package through the proxy and runs its tests. If the
// registry is not among the hosts, npm fails and the report says why.
func TestWorkNpm(t *testing.T) {
	work(t, func(d *workEnv) {
		d.need("npm", "npm")
		r := newRegistry(t)
		host := strings.TrimPrefix(r.URL, "http://")
		d.write("package.json", `{"name":"work","version":"1.0.0","scripts":{"test":"node test.js"},"dependencies":{"seven":"1.0.0"}}`)
		d.write("package-lock.json", fmt.Sprintf(`{"name":"work","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{`+
			`"":{"name":"work","version":"1.0.0","dependencies":{"seven":"1.0.0"}},`+
			`"node_modules/seven":{"version":"1.0.0","resolved":"%s/seven-1.0.0.tgz","integrity":%q}}}`, r.URL, r.integrity))
		d.write("test.js", "require('assert').equal(require('seven'), 7); console.log('tested')\n")
		npm := "npm_config_cache=/tmp/npm npm --no-audit --no-fund --no-update-notifier --fetch-retries=0 --registry=" + r.URL

		d.refused(npm+" view seven --registry=http://registry.test", []string{"registry.test:80", "network.allowedDomains"}, "--allow-domain", host)
		if len(r.asked) > 0 {
			t.Errorf("the registry was asked for %v", r.asked)
		}
		if got := d.good(npm+" ci && "+npm+" test", "--allow-domain", host); !strings.Contains(got, "tested") {
			t.Errorf("%q", got)
		}
		if len(r.asked) == 0 {
			t.Error("npm did not ask the registry")
		}
	})
}

// TestWorkLogin checks that npm knows the registry of a scope in the user's .npmrc, and not the token. The
// result names the command that makes the file readable, and that command works.
func TestWorkLogin(t *testing.T) {
	work(t, func(d *workEnv) {
		d.need("npm", "npm")
		r := newRegistry(t)
		host := strings.TrimPrefix(r.URL, "http://")
		npmrc := "@acme:registry=" + r.URL + "/\nupdate-notifier=false\nfetch-retries=0\n"
		d.write("../home/.npmrc", npmrc)
		npm := "npm view @acme/seven version"
		if got := d.good(npm, "--allow-domain", host); strings.TrimSpace(got) != "1.0.0" {
			t.Errorf("without a login: %q", got)
		}
		r.token = "made-up-token"
		d.write("../home/.npmrc", npmrc+"//"+host+"/:_authToken="+r.token+"\n")
		d.refused(npm, []string{"it contains a login for 127.0.0.1 that commands cannot read", "holdfast sandbox allow --read "}, "--allow-domain", host)
		if e := d.exec("--", "/bin/sh", "-c", "cat $HOME/.npmrc $npm_config_userconfig"); strings.Contains(e.out, r.token) {
			t.Errorf("a command reads the token: %s", e.out)
		}
		c := exec.Command(d.program, "sandbox", "allow", "--user", "--read", filepath.Join(d.dir, "../home/.npmrc"))
		c.Dir, c.Env = d.dir, append(d.env, "PWD="+d.dir)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: d.who.uid, Gid: d.who.uid}}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := d.good(npm, "--allow-domain", host); strings.TrimSpace(got) != "1.0.0" {
			t.Errorf("with the login: %q", got)
		}
	})
}
