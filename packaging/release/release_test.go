package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// sampleRelease is a release for all systems of a program that is a shell script, in temporary folders.
func sampleRelease(t *testing.T, key string) (*release, []*build) {
	t.Helper()
	r := &release{
		source: &source{Version: "0.9.0", Tag: "v0.9.0", Commit: commit, Time: time.Unix(1764312269, 0).UTC()},
		root:   "../..", out: t.TempDir(), work: t.TempDir(), key: key,
	}
	if key != "" {
		var err error
		if r.signer, err = publicKey(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	var builds []*build
	for _, target := range []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}} {
		b := &build{
			target: target, program: []byte("#!/bin/sh\necho holdfast 0.9.0 " + target.String() + "\n"), info: &buildinfo.BuildInfo{},
			modules: []module{
				{Path: "github.com/holdfast-dev/holdfast", Version: "v0.9.0", Source: homepage, Licence: "Apache-2.0", Texts: []text{{"LICENSE", []byte("Apache License, Version 2.0")}}},
				{Path: "github.com/Ann/list", Version: "v1.2.3", Source: "https://proxy.golang.org/github.com/!ann/list/@v/v1.2.3.zip", Licence: "MIT", Texts: []text{{"LICENSE", []byte("Copyright Ann")}}},
				{Path: "std", Version: "go1.26.1", Source: "https://go.dev/dl/go1.26.1.src.tar.gz", Licence: "BSD-3-Clause", Texts: []text{{"LICENSE", []byte("Copyright The Go Authors")}}},
			},
		}
		b.notices = notices(b, r.Version)
		builds = append(builds, b)
	}
	return r, builds
}

// sampleTexts are texts that a program prints, and files of the checkout.
func sampleTexts(t *testing.T) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{
		"man/holdfast.1": []byte(".Dt HOLDFAST 1\n"), "completions/holdfast.bash": []byte("# bash\n"), "completions/_holdfast": []byte("#compdef holdfast\n"),
		"completions/holdfast.fish": []byte("# fish\n"), "completions/holdfast.ps1": []byte("# ps1\n"), "LICENSE": []byte("Apache\n"),
		"README.md": []byte("# Holdfast\n"), "CHANGELOG.md": []byte("# Changelog\n"),
	}
	for _, name := range []string{"holdfast.service", "holdfast.socket"} {
		data, err := os.ReadFile("../systemd/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts["systemd/"+name] = data
	}
	return texts
}

// writeAll writes the files of a sample, as make does.
func writeAll(t *testing.T, r *release, builds []*build) {
	t.Helper()
	texts := sampleTexts(t)
	for _, b := range builds {
		if err := r.writeSBOM(b); err != nil {
			t.Fatal(err)
		}
		if err := r.writeArchive(b, texts); err != nil {
			t.Fatal(err)
		}
		if b.OS == "linux" {
			if err := r.writePackages(b, texts); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, err := range []error{r.writeImage(builds), r.writeCask(), r.writeInstaller(), r.writeChecksums(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// newKey creates a signing key.
func newKey(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed; apt-get install openssh-client")
	}
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return key
}

// Two releases of one commit are identical, whatever the folders are called.
func TestSameBytes(t *testing.T) {
	key := newKey(t)
	one, builds := sampleRelease(t, key)
	writeAll(t, one, builds)
	two, builds := sampleRelease(t, key)
	writeAll(t, two, builds)
	entries, err := os.ReadDir(one.out)
	if err != nil || len(entries) != 4*2+2*3+6 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		a, err := os.ReadFile(filepath.Join(one.out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(two.out, e.Name()))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs, %v", e.Name(), err)
		}
		if bytes.Contains(a, []byte(one.work)) || bytes.Contains(a, []byte(one.out)) {
			t.Errorf("%s names a folder of this machine", e.Name())
		}
	}
}

func TestNewSource(t *testing.T) {
	at := time.Date(2026, 11, 28, 5, 44, 29, 0, time.UTC)
	const snapshot = "0.1.0-dev.20261128054429.g01234567"
	for _, tt := range []struct {
		name            string
		tags            []string
		changed         bool
		version, commit string
	}{
		{"release", []string{"v0.9.0"}, false, "0.9.0", commit},
		{"candidate", []string{"nightly", "v1.0.0-rc.1"}, false, "1.0.0-rc.1", commit},
		{"no tag", nil, false, snapshot, commit},
		{"another tag", []string{"v1", "v01.2.3", "release"}, false, snapshot, commit},
		{"files differ", []string{"v0.9.0"}, true, snapshot + ".dirty", commit + "-dirty"},
		{"two versions", []string{"v0.9.0", "v0.9.1"}, false, "", ""},
	} {
		s, err := newSource(commit, at, tt.tags, tt.changed, "0.1.0")
		switch {
		case tt.version == "" && err == nil:
			t.Errorf("%s: no error", tt.name)
		case tt.version != "" && (err != nil || s.Version != tt.version || s.Commit != tt.commit || (s.Tag != "") != !strings.Contains(s.Version, "-dev")):
			t.Errorf("%s: %+v, %v", tt.name, s, err)
		}
	}
}

// Files that do not belong to a release are not removed.
func TestEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"holdfast_0.1.0_linux_amd64.deb", "checksums.txt", "install.sh"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := emptyFolder(dir); err == nil {
		t.Error("no error")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 4 {
		t.Errorf("%d files are left of 4", len(entries))
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if err := emptyFolder(dir); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%d files are left", len(entries))
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{{"-systems", "plan9/amd64"}, {"-systems", ""}, {"-systems", "linux/386"}, {"-frobnicate"}} {
		if err := run(t.Context(), append([]string{"-out", t.TempDir()}, args...)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// The public half of a key comes from its own file, or from the key.
func TestPublicKey(t *testing.T) {
	key := newKey(t)
	want, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{key, key + ".pub"} {
		if got, err := publicKey(t.Context(), file); err != nil || got+" test\n" != string(want) {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if err := os.Remove(key + ".pub"); err != nil {
		t.Fatal(err)
	}
	if got, err := publicKey(t.Context(), key); err != nil || got+" test\n" != string(want) {
		t.Errorf("without its file: %q, %v", got, err)
	}
	if _, err := publicKey(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no key: no error")
	}
}
