package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each format has its files where its systems look for them.
func TestPackageFiles(t *testing.T) {
	r, builds := sampleRelease(t, "")
	texts := sampleTexts(t)
	for format, names := range map[string][]string{
		"deb": {"doc/holdfast/copyright", "doc/holdfast/changelog.gz", "doc/holdfast/THIRD_PARTY_NOTICES.txt", "zsh/vendor-completions/_holdfast"},
		"rpm": {"licenses/holdfast/LICENSE", "licenses/holdfast/THIRD_PARTY_NOTICES.txt", "zsh/site-functions/_holdfast"},
		"apk": {"licenses/holdfast/LICENSE", "licenses/holdfast/THIRD_PARTY_NOTICES.txt", "zsh/site-functions/_holdfast"},
	} {
		in, err := r.packageFiles(builds[0], texts, format)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"/usr/bin/holdfast", "/usr/lib/systemd/user/holdfast.service", "/usr/lib/systemd/user/holdfast.socket",
			"/usr/share/man/man1/holdfast.1.gz", "/usr/share/bash-completion/completions/holdfast", "/usr/share/fish/vendor_completions.d/holdfast.fish"}
		for _, name := range names {
			want = append(want, "/usr/share/"+name)
		}
		for _, name := range want {
			if len(in[name]) == 0 {
				t.Errorf("%s does not have %s", format, name)
			}
		}
		if len(in) != len(want) {
			t.Errorf("%s has %d files, want %d", format, len(in), len(want))
		}
		if unit := string(in["/usr/lib/systemd/user/holdfast.service"]); !strings.Contains(unit, "\nExecStart=/usr/bin/holdfast daemon ") || strings.Contains(unit, ".local") {
			t.Errorf("%s: %s", format, unit)
		}
	}
	texts["systemd/holdfast.service"] = []byte("[Service]\nExecStart=/opt/holdfast daemon\n")
	if _, err := r.packageFiles(builds[0], texts, "deb"); err == nil {
		t.Error("a unit that starts something else: no error")
	}
}

func TestAPKVersion(t *testing.T) {
	for version, want := range map[string]string{
		"0.9.0": "0.9.0", "1.0.0-rc.1": "1.0.0_rc1", "1.0.0-beta2": "1.0.0_beta2", "1.0.0-alpha": "1.0.0_alpha",
		"0.1.0-dev.20261128054429.g01234567": "0.1.0_pre20261128054429",
	} {
		if got := apkVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// The tools of the systems can read the packages.
func TestPackages(t *testing.T) {
	r, builds := sampleRelease(t, "")
	r.Version = "0.9.0-rc.1"
	if err := r.writePackages(builds[1], sampleTexts(t)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		command []string
		want    []string
	}{
		"deb":      {[]string{"dpkg-deb", "--field"}, []string{"Package: holdfast\n", "Version: 0.9.0~rc.1\n", "Architecture: arm64\n", "Recommends: ca-certificates, git\n"}},
		"deb list": {[]string{"dpkg-deb", "--contents"}, []string{"-rwxr-xr-x root/root", "./usr/bin/holdfast\n"}},
		"rpm":      {[]string{"rpm", "-qp", "--nosignature", "--queryformat", "%{NAME} %{VERSION} %{ARCH} %{LICENSE}\n[%{FILENAMES}\n]"}, []string{"holdfast 0.9.0~rc.1 aarch64 Apache-2.0\n", "\n/usr/bin/holdfast\n"}},
		"apk":      {[]string{"tar", "-xzOf"}, []string{"pkgname = holdfast\n", "pkgver = 0.9.0_rc1\n", "arch = aarch64\n"}},
	} {
		format, _, _ := strings.Cut(name, " ")
		path, err := exec.LookPath(tt.command[0])
		if err != nil {
			t.Logf("%s is not installed", tt.command[0])
			continue
		}
		args := append(tt.command[1:], filepath.Join(r.out, r.name(builds[1].target, "."+format)))
		if format == "apk" {
			args = append(args, ".PKGINFO")
		}
		cmd := exec.Command(path, args...)
		var errs bytes.Buffer
		cmd.Stderr, cmd.Env = &errs, append(os.Environ(), "LC_ALL=C")
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%q: %v\n%s", tt.command, err, errs.String())
		}
		for _, want := range tt.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q has no %q:\n%s", tt.command, want, out)
			}
		}
	}
}

// An apk consists of two archives; the first contains the hash of the second, which apk checks.
func TestAPK(t *testing.T) {
	r, builds := sampleRelease(t, "")
	if err := r.writePackages(builds[0], sampleTexts(t)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(r.out, r.name(builds[0].target, ".apk")))
	if err != nil {
		t.Fatal(err)
	}
	rest := bytes.NewReader(data)
	control, err := gzip.NewReader(rest)
	if err != nil {
		t.Fatal(err)
	}
	control.Multistream(false)
	info, err := io.ReadAll(control)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("datahash = %x\n", sha256.Sum256(data[len(data)-rest.Len():])); !strings.Contains(string(info), want) {
		t.Errorf("no line %s", want)
	}
}
