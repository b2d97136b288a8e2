package main

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// user is a user who installs: a home, a folder of programs, and the server of the release.
type user struct {
	t              *testing.T
	home, bin, url string
	script         string
}

// newUser serves the folder of a release to a user who has these programs and no others.
func newUser(t *testing.T, folder string, without ...string) *user {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	p := &user{t: t, home: t.TempDir(), bin: t.TempDir(), url: server.URL, script: filepath.Join(folder, "install.sh")}
	for _, name := range []string{"cat", "chmod", "cp", "curl", "cut", "dirname", "gzip", "id", "mkdir", "mktemp", "mv", "openssl", "rm", "sed", "sh",
		"sha256sum", "shasum", "ssh-keygen", "tar", "uname", "wget"} {
		path, err := exec.LookPath(name)
		if slices.Contains(without, name) || err != nil {
			continue
		}
		if err := os.Symlink(path, filepath.Join(p.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// addProgram adds a program of one line.
func (p *user) addProgram(name, script string) {
	p.t.Helper()
	file := filepath.Join(p.bin, name)
	_ = os.Remove(file)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// install runs the script with a shell.
func (p *user) install(shell []string, args ...string) (string, error) {
	cmd := exec.Command(shell[0], append(append(shell[1:], p.script), args...)...)
	cmd.Env = []string{"PATH=" + p.bin, "HOME=" + p.home, "TMPDIR=" + p.t.TempDir(), "HOLDFAST_INSTALL_DIR=" + filepath.Join(p.home, ".local"), "HOLDFAST_INSTALL_FROM=" + p.url}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// files lists the files in the home.
func (p *user) files() (list []string) {
	p.t.Helper()
	err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(filepath.Join(p.home, ".local"), path)
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("a script for Unix")
	}
}

func TestInstall(t *testing.T) {
	needPrograms(t, "sh", "curl", "sha256sum", "tar")
	r, builds := sampleRelease(t, newKey(t))
	writeAll(t, r, builds)
	shells := [][]string{{"sh"}}
	for _, other := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(other[0]); err == nil {
			shells = append(shells, other)
		}
	}
	for _, shell := range shells {
		p := newUser(t, r.out)
		out, err := p.install(shell)
		if err != nil || !strings.Contains(out, "installed holdfast 0.9.0 "+runtime.GOOS+"/"+runtime.GOARCH) || strings.Contains(out, "not verified") {
			t.Errorf("%q: %v\n%s", shell, err, out)
		}
		want := []string{"bin/holdfast", "share/bash-completion/completions/holdfast", "share/doc/holdfast/LICENSE", "share/doc/holdfast/THIRD_PARTY_NOTICES.txt",
			"share/fish/vendor_completions.d/holdfast.fish", "share/man/man1/holdfast.1", "share/zsh/site-functions/_holdfast"}
		if got := p.files(); !slices.Equal(got, want) {
			t.Errorf("%q: installed %q", shell, got)
		}
		if out, err := p.install(shell); err != nil { // over itself
			t.Errorf("%q: %v\n%s", shell, err, out)
		}
		if out, err := p.install(shell, "--uninstall"); err != nil || len(p.files()) != 0 {
			t.Errorf("%q: %v, left %q\n%s", shell, err, p.files(), out)
		}
	}
}

// Nothing is installed that differs from the release.
func TestInstallRefuses(t *testing.T) {
	needPrograms(t, "sh", "curl", "sha256sum", "tar")
	key := newKey(t)
	archive := (&release{source: &source{Version: "0.9.0"}}).name(target{runtime.GOOS, runtime.GOARCH}, ".tar.gz")
	replace := func(t *testing.T, file, old, text string) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.ReplaceAll(string(data), old, text)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		change func(t *testing.T, p *user, dir string)
		text   string
	}{
		"another archive": {func(t *testing.T, _ *user, dir string) {
			if err := os.Rename(filepath.Join(dir, "holdfast_0.9.0_image.tar"), filepath.Join(dir, archive)); err != nil {
				t.Fatal(err)
			}
		}, "the checksum of " + archive},
		"another archive with its checksum": {func(t *testing.T, _ *user, dir string) {
			replace(t, filepath.Join(dir, "checksums.txt"), "a", "b")
		}, "the signature of checksums.txt is wrong"},
		"a foreign signature": {func(t *testing.T, _ *user, dir string) {
			other, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", signatureNamespace, "-f", newKey(t))
			cmd.Stdin = strings.NewReader(string(other))
			sig, err := cmd.Output()
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "checksums.txt.sig"), sig, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "the signature of checksums.txt is wrong"},
		"a signature for something else": {func(t *testing.T, _ *user, dir string) {
			if out, err := exec.Command("sh", "-c", `rm "$1/checksums.txt.sig" && ssh-keygen -q -Y sign -n file -f "$2" "$1/checksums.txt"`, "sh", dir, key).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}, "the signature of checksums.txt is wrong"},
		"no signature": {func(t *testing.T, _ *user, dir string) {
			if err := os.Remove(filepath.Join(dir, "checksums.txt.sig")); err != nil {
				t.Fatal(err)
			}
		}, "cannot download"},
		"no archive for this machine": {func(t *testing.T, _ *user, dir string) {
			replace(t, filepath.Join(dir, "install.sh"), "signers='"+signerName, "signers='' #")
			replace(t, filepath.Join(dir, "checksums.txt"), archive, "another")
		}, "checksums.txt does not list " + archive},
		"a processor without a build": {func(_ *testing.T, p *user, _ string) {
			p.addProgram("uname", `[ "$1" = -m ] && echo riscv64 || echo Linux`)
		}, "the processor riscv64"},
		"a system without a build": {func(_ *testing.T, p *user, _ string) {
			p.addProgram("uname", `[ "$1" = -m ] && echo x86_64 || echo MINGW64_NT`)
		}, "MINGW64_NT; on Windows, use WSL"},
		"a folder that cannot be written": {func(t *testing.T, p *user, _ string) {
			if err := os.WriteFile(filepath.Join(p.home, ".local"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "HOLDFAST_INSTALL_DIR"},
	} {
		t.Run(name, func(t *testing.T) {
			r, builds := sampleRelease(t, key)
			writeAll(t, r, builds)
			p := newUser(t, r.out)
			tt.change(t, p, r.out)
			before := len(p.files())
			out, err := p.install([]string{"sh"})
			if err == nil || !strings.Contains(out, tt.text) {
				t.Errorf("%v\n%s", err, out)
			}
			if got := p.files(); len(got) != before {
				t.Errorf("installed %q", got)
			}
		})
	}
}

// If the machine lacks a tool, the script continues without it and prints that.
func TestInstallWithout(t *testing.T) {
	needPrograms(t, "sh", "curl", "wget", "sha256sum", "openssl", "tar")
	r, builds := sampleRelease(t, newKey(t))
	writeAll(t, r, builds)
	for name, tt := range map[string]struct {
		without []string
		change  func(p *user)
		text    string
	}{
		"wget":                      {[]string{"curl"}, nil, ""},
		"openssl":                   {[]string{"sha256sum", "shasum"}, nil, ""},
		"no ssh-keygen":             {[]string{"ssh-keygen"}, nil, "there is no ssh-keygen; the signature is not verified"},
		"an old ssh-keygen":         {nil, func(p *user) { p.addProgram("ssh-keygen", `echo "unknown option -- Y" >&2; exit 1`) }, "older than OpenSSH 8.0"},
		"an account without a name": {nil, func(p *user) { p.addProgram("ssh-keygen", `echo "No user exists for uid 4711" >&2; exit 255`) }, "has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newUser(t, r.out, tt.without...)
			if tt.change != nil {
				tt.change(p)
			}
			if out, err := p.install([]string{"sh"}); err != nil || !strings.Contains(out, tt.text) || !strings.Contains(out, "installed holdfast 0.9.0") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The script in the source belongs to no release.
func TestInstallFromSource(t *testing.T) {
	needPrograms(t, "sh")
	if out, err := exec.Command("sh", "install.sh").CombinedOutput(); err == nil || !strings.Contains(string(out), "each release has its own") {
		t.Errorf("%v\n%s", err, out)
	}
}
