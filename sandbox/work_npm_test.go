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
	"strings"
	"sync"
	"testing"
)

// registry serves one package to npm, as registry.npmjs.org does.
type registry struct {
	*httptest.Server
	integrity string

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
	mux.HandleFunc("GET /seven-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pack) })
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, q.URL.Path)
		r.mu.Unlock()
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

// TestWorkNpm: the real npm gets a package through the proxy, and its tests run.
// Without the registry among the hosts it does not, and is told.
func TestWorkNpm(t *testing.T) {
	work(t, func(d *desk) {
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
			t.Error("nobody asked the registry")
		}
	})
}
