package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

func TestParseAgents(t *testing.T) {
	for with, want := range map[string]string{
		"codex claude":              "claude@2.1.197 codex@0.169.0",
		"claude@2.1.197":            "claude@2.1.197",
		"codex@1.0.0-alpha.1":       "codex@1.0.0-alpha.1",
		"gemini":                    "use claude or codex",
		"claude claude@1.0.0":       "it is given twice",
		"claude@":                   "is not of the form 1.2.3",
		"claude@latest":             "is not of the form 1.2.3",
		"claude@1.0.0/../x":         "is not of the form 1.2.3",
		"claude@1.0.0\n":            "is not of the form 1.2.3",
		"claude@git+https://a.test": "is not of the form 1.2.3",
		"":                          "",
	} {
		list := strings.Split(with, " ")
		if with == "" {
			list = nil
		}
		got, err := parseAgents(list)
		var names []string
		for _, l := range got {
			names = append(names, l.name+"@"+l.version)
			if pinned := len(l.pinned) > 0; pinned != (l.version == "2.1.197" || l.version == "0.169.0") {
				t.Errorf("%s: digests of another version", with)
			}
		}
		if err != nil && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want)) || err == nil && strings.Join(names, " ") != want {
			t.Errorf("%q: %q, %v", with, names, err)
		}
	}
}

type entry struct {
	name string
	typ  byte
	mode int64
	body string
	link string
}

// packed returns an npm package with these files.
func packed(t testing.TB, list ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range list {
		if e.typ == 0 {
			e.typ = tar.TypeReg
		}
		if err := w.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.typ, Mode: e.mode, Size: int64(len(e.body)), Linkname: e.link}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	good := packed(t, entry{name: "package/", typ: tar.TypeDir}, entry{name: "package/a", mode: 0o4777, body: "1"}, entry{name: "package/b/c", mode: 0o600})
	var got []string
	err := unpack(bytes.NewReader(good), func(name string, mode, size int64, body io.Reader) error {
		content, err := io.ReadAll(body)
		if int64(len(content)) != size {
			t.Errorf("%s: %d bytes", name, size)
		}
		got = append(got, name)
		if (mode == 0o755) != (name == "a") || mode&^0o755 != 0 {
			t.Errorf("%s: %o", name, mode)
		}
		return err
	})
	if err != nil || strings.Join(got, " ") != "a b/c" {
		t.Errorf("%q, %v", got, err)
	}
	for name, bad := range map[string][]byte{
		"empty":    nil,
		"cut":      good[:len(good)-20],
		"no tar":   gzipped(t, strings.Repeat("x", 1024)),
		"parent":   packed(t, entry{name: "package/../../etc/passwd"}),
		"absolute": packed(t, entry{name: "/etc/passwd"}),
		"top":      packed(t, entry{name: "file"}),
		"link":     packed(t, entry{name: "package/a", typ: tar.TypeSymlink, link: "/etc/passwd"}),
		"hard":     packed(t, entry{name: "package/a", typ: tar.TypeLink, link: "/etc/passwd"}),
		"device":   packed(t, entry{name: "package/a", typ: tar.TypeChar}),
		"unclean":  packed(t, entry{name: "package//a"}),
	} {
		if err := unpack(bytes.NewReader(bad), func(string, int64, int64, io.Reader) error { return nil }); !errors.Is(err, ErrPackage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func gzipped(t testing.TB, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, s)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever a package contains, its files stay in the folder they are unpacked to.
func FuzzUnpack(f *testing.F) {
	f.Add(packed(f, entry{name: "package/a", body: "1"}))
	f.Add(packed(f, entry{name: "package/../a", body: "1"}))
	f.Add(packed(f, entry{name: "a/b/../../../c"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = unpack(bytes.NewReader(b), func(name string, _, size int64, body io.Reader) error {
			if !filepath.IsLocal(name) || strings.Contains(name, "..") && filepath.Clean(name) != name || size < 0 {
				t.Errorf("%q, %d bytes", name, size)
			}
			_, err := io.Copy(io.Discard, io.LimitReader(body, 1<<16))
			return err
		})
	})
}

// writePackages puts packages of both agents into a folder.
func writePackages(t testing.TB, dir, arch string) {
	t.Helper()
	for name, content := range map[string][]byte{
		PackageFile("claude", "9.9.9", arch): packed(t, entry{name: "package/claude", mode: 0o755, body: "claude"}, entry{name: "package/README.md", body: "text"}),
		PackageFile("codex", "9.9.9", arch): packed(t, entry{name: "package/vendor/x/bin/codex", mode: 0o755, body: "codex"},
			entry{name: "package/vendor/x/codex-path/rg", mode: 0o755, body: "rg"}, entry{name: "package/vendor/x/codex-resources/voice/a", body: "voice"}),
	} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name), content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// The builder gets the agents, the program, and the commands that start them.
func TestContext(t *testing.T) {
	b := &build{arch: "amd64", program: &binary{path: "/dev/null"}, spec: Spec{Variant: Debian, Tag: "a/b:1", Packages: t.TempDir()}}
	writePackages(t, b.spec.Packages, b.arch)
	var err error
	if b.agents, err = parseAgents([]string{"codex@9.9.9", "claude@9.9.9"}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := b.writeContext(&out, "sha256:abc", map[string]string{"two": "2", labelImage: "a/b:1"}); err != nil {
		t.Fatal(err)
	}
	want := `5 755 0:0 tools/opt/
5 755 0:0 tools/usr/
5 755 0:0 tools/usr/local/
5 755 0:0 tools/usr/local/bin/
5 755 0:0 tools/opt/claude/
2 777 0:0 tools/usr/local/bin/claude -> /opt/claude/claude
5 755 0:0 tools/opt/codex/
2 777 0:0 tools/usr/local/bin/codex -> /opt/codex/bin/codex
0 755 0:0 tools/opt/claude/claude "claude"
5 755 0:0 tools/opt/codex/bin/
0 755 0:0 tools/opt/codex/bin/codex "codex"
5 755 0:0 tools/opt/codex/codex-path/
0 755 0:0 tools/opt/codex/codex-path/rg "rg"
5 755 0:0 program/home/
5 700 4711:4711 program/home/agent/
5 755 0:0 program/run/
5 755 0:0 program/run/holdfast/
5 755 0:0 program/usr/
5 755 0:0 program/usr/local/
5 755 0:0 program/usr/local/bin/
0 755 0:0 program/usr/local/bin/holdfast
5 755 0:0 program/work/
0 644 0:0 Dockerfile "FROM sha256:abc\nLABEL dev.holdfast.image=\"a/b:1\"\nCOPY tools/ /\nCOPY program/ /\n` +
		`ENV PATH=\"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\" HOME=\"/home/agent\" LANG=\"C.UTF-8\" DISABLE_AUTOUPDATER=\"1\"\n` +
		`WORKDIR /work\nENTRYPOINT [\"/usr/local/bin/holdfast\"]\nCMD [\"supervise\"]\nUSER 4711:4711\nLABEL dev.holdfast.image=\"a/b:1\" two=\"2\"\n"
`
	if got := lines(t, &out); got != want {
		t.Errorf("%s", got)
	}
	// A package without its program is invalid.
	at := filepath.Join(b.spec.Packages, PackageFile("claude", "9.9.9", "amd64"))
	if err := os.WriteFile(at, packed(t, entry{name: "package/other"}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.writeContext(io.Discard, "a", b.labels("a")); !errors.Is(err, ErrPackage) {
		t.Error(err)
	}
}

// A package with another digest than its expected one is rejected, whoever stored it.
func TestPackageDigest(t *testing.T) {
	list, err := parseAgents([]string{"claude"})
	if err != nil {
		t.Fatal(err)
	}
	b := &build{arch: "amd64", agents: list, spec: Spec{Packages: t.TempDir()}}
	at := filepath.Join(b.spec.Packages, PackageFile("claude", "2.1.197", "amd64"))
	if err := os.WriteFile(at, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, ok := errors.AsType[*Error](b.downloadAgents(t.Context())); !ok || !errors.Is(f, ErrPackage) || !strings.Contains(f.Error(), "its digest is sha512-") {
		t.Errorf("%v", f)
	}
}

// npm stands in for the program: it downloads what is requested, fails as npm does, or never ends.
const npm = `#!/bin/sh
for last; do :; done
for a; do case $a in --pack-destination=*) to=${a#*=};; esac; done
case $last in
*@9.9.9) cp "$NPM_PACKAGE" "$to/x.tgz" ;;
*@9.9.8) printf %s '{"error": {"code": "E404", "summary": "Not Found\n- GET https://r.test"}}'; exit 1 ;;
*@9.9.7) echo "$*" >"$NPM_PACKAGE.args"; exec sleep 600 ;;
*) echo "npm: broken" >&2; exit 1 ;;
esac
`

func TestNpm(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("the stand-in is a shell script")
	}
	dir := t.TempDir()
	writePackages(t, dir, "amd64")
	t.Setenv("NPM_PACKAGE", filepath.Join(dir, PackageFile("claude", "9.9.9", "amd64")))
	path := os.Getenv("PATH")
	for version, want := range map[string]string{
		"9.9.9": "",
		"9.9.8": "E404: Not Found - GET https://r.test",
		"9.9.6": "npm: broken",
		"9.9.5": "npm is not on the PATH",
		"9.9.7": "context canceled",
	} {
		if version == "9.9.5" {
			t.Setenv("PATH", t.TempDir())
		} else {
			if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(npm), 0o700); err != nil {
				testneed.Need(t, "no folder of programs: %v", err)
			}
			t.Setenv("PATH", dir+":"+path)
		}
		list, err := parseAgents([]string{"claude@" + version})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b := &build{arch: "amd64", agents: list, spec: Spec{Packages: t.TempDir()}, lock: &buildLock{dir: t.TempDir()}, progress: func(Progress) {}}
		if version == "9.9.7" {
			go func() {
				for ctx.Err() == nil {
					if _, err := os.Stat(filepath.Join(dir, PackageFile("claude", "9.9.9", "amd64")+".args")); err == nil {
						cancel()
					}
				}
			}()
		}
		err = b.downloadAgents(ctx)
		cancel()
		_, there := os.Stat(b.packageFile(&b.agents[0]))
		if want == "" && (err != nil || there != nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || there == nil) {
			t.Errorf("%s: %v, %v", version, err, there)
		}
	}
}
