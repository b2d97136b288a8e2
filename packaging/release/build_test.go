package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An archive has one folder, which contains every file for its system.
func TestArchive(t *testing.T) {
	r, builds := sampleRelease(t, "")
	for _, b := range builds {
		var names []string
		for _, e := range r.archiveEntries(b, sampleTexts(t)) {
			name, ok := strings.CutPrefix(e.Name, "holdfast_0.9.0_"+b.OS+"_"+b.Arch+"/")
			if !ok {
				t.Errorf("%s is next to the folder", e.Name)
			}
			if program := name == "holdfast"; program != (e.Mode == 0o755 && len(e.Data) > 0) {
				t.Errorf("%s has mode %o", e.Name, e.Mode)
			}
			names = append(names, name)
		}
		want := []string{"", "holdfast", "CHANGELOG.md", "LICENSE", "README.md", "THIRD_PARTY_NOTICES.txt", "completions/", "completions/_holdfast",
			"completions/holdfast.bash", "completions/holdfast.fish", "completions/holdfast.ps1", "man/", "man/holdfast.1"}
		if b.OS == "linux" {
			want = append(want, "systemd/", "systemd/holdfast.service", "systemd/holdfast.socket")
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q", b.target, names)
		}
	}
}

// Build settings in the environment change nothing.
func TestEnvironment(t *testing.T) {
	t.Setenv("GOFLAGS", "-race -tags=mine")
	t.Setenv("GOAMD64", "v4")
	t.Setenv("GOEXPERIMENT", "synctest")
	t.Setenv("HOLDFAST_TEST", "kept")
	env := environment(target{"darwin", "arm64"})
	for _, want := range []string{"GOFLAGS=", "GOAMD64=v1", "CGO_ENABLED=0", "GOOS=darwin", "GOARCH=arm64", "HOLDFAST_TEST=kept"} {
		if !slices.Contains(env, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, v := range env {
		if strings.HasPrefix(v, "GOEXPERIMENT=") || v == "GOAMD64=v4" || strings.Contains(v, "-race") {
			t.Errorf("there is %s", v)
		}
	}
}

// The version comes from the tag of a commit whose files are unchanged.
func TestReadSource(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-28T05:44:29Z", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	version := filepath.Join(root, "internal", "version", "version.go")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(version), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(version, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(prefix, suffix, tag string) {
		t.Helper()
		s, err := readSource(t.Context(), root)
		if err != nil || !strings.HasPrefix(s.Version, prefix) || !strings.HasSuffix(s.Version, suffix) || s.Tag != tag || len(s.Commit) < 40 {
			t.Errorf("%+v, %v, want %s…%s", s, err, prefix, suffix)
		}
	}
	git("init", "-q")
	write("package version\n\nconst next = \"0.3.0\"\n")
	git("add", ".")
	git("commit", "-qm", "first")
	check("0.3.0-dev.20261128054429.g", "", "")
	git("tag", "v0.3.0")
	check("0.3.0", "0.3.0", "v0.3.0")
	write("package version\n\nconst next = \"0.4.0\"\n")
	check("0.4.0-dev.20261128054429.g", ".dirty", "")
	write("package version\n")
	if _, err := readSource(t.Context(), root); err == nil {
		t.Error("no next version: no error")
	}
	if _, err := readSource(t.Context(), t.TempDir()); err == nil {
		t.Error("no repository: no error")
	}
}

// The module proxy marks upper case letters.
func TestEscape(t *testing.T) {
	for s, want := range map[string]string{"github.com/JohannesKaufmann/dom": "github.com/!johannes!kaufmann/dom", "v1.2.3-RC1": "v1.2.3-!r!c1", "golang.org/x/sys": "golang.org/x/sys"} {
		if got := escape(s); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
}
