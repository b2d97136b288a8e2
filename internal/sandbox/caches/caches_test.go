package caches

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func of(t *testing.T, home, user, dir string) string {
	t.Helper()
	at, err := DirFor(home, &User{Home: user}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Each project has its own folder, which its worktrees share. The files of a project do not influence its
// choice.
func TestDirFor(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	a, b := folder(t, work, "a", "app"), folder(t, work, "b", "app")
	at := of(t, home, "", a)
	if of(t, home, "", b) == at {
		t.Error("two projects share their caches")
	}
	if got := of(t, home, "", folder(t, a, ".holdfast", "worktrees", "bob")); got != at {
		t.Errorf("a worktree has %s, its project %s", got, at)
	}
	write(t, filepath.Join(a, ".git", "holdfast-project"), "p_other")
	if got := of(t, home, "", a); got != at {
		t.Errorf("after a file was written: %s, before %s", got, at)
	}
	if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
	if _, err := DirFor(home, nil, filepath.Join(work, "nowhere")); err == nil {
		t.Error("a folder that is not there has caches")
	}
}

func TestEnviron(t *testing.T) {
	user := t.TempDir()
	env := func(have ...string) map[string]string {
		m := map[string]string{}
		p := Project{Dir: user, User: user, MayWrite: func(p string) bool { return strings.HasPrefix(p, "/w/") }}
		for _, entry := range p.Open("/c").Environ(have, false) {
			name, value, _ := strings.Cut(entry, "=")
			m[name] = value
		}
		return m
	}
	got := env("GOCACHE=/home/u/.cache/go-build", "PIP_CACHE_DIR=/w/pip")
	if got["GOCACHE"] != "/c/go-build" || got["GOPROXY"] != "https://proxy.golang.org,direct" || got["MAVEN_OPTS"] != "-Dmaven.repo.local=/c/maven" {
		t.Errorf("%v", got)
	}
	for _, name := range []string{"PIP_CACHE_DIR", "YARN_CACHE_FOLDER", "MAVEN_ARGS", "GRADLE_RO_DEP_CACHE", "GEM_PATH", "NUGET_FALLBACK_PACKAGES"} {
		if v, ok := got[name]; ok {
			t.Errorf("%s became %s", name, v)
		}
	}
	p := Project{User: user, MayWrite: func(string) bool { return false }, Mapped: func(p string) bool { return p == Stores(user)[pnpmStore] }}
	for _, old := range []bool{false, true} { // pnpm before version 11 reads npm's variable
		if old {
			p.Dir = user
			write(t, filepath.Join(user, "pnpm-lock.yaml"), "")
		}
		shown := p.Open("/c").Environ([]string{"PNPM_HOME=/p"}, false)
		for name, want := range map[string]bool{"pnpm_config_store_dir": true, "npm_config_store_dir": old} {
			if slices.Contains(shown, name+"="+Stores(user)[pnpmStore]) != want {
				t.Errorf("%t: %q", old, shown)
			}
		}
	}
	if got := env("PNPM_HOME=/home/u/.local/share/pnpm")["PNPM_HOME"]; got != "/c/pnpm" {
		t.Errorf("pnpm's store is in %q", got)
	}
	repository, packages := folder(t, user, ".m2", "repository"), folder(t, user, ".nuget", "packages")
	modules := folder(t, user, ".gradle", "caches", "modules-2")
	downloads := folder(t, user, "go", "pkg", "mod", "cache", "download")
	write(t, filepath.Join(user, ".config", "go", "env"), "GOPROXY=https://mine.example\n")
	got = env("GEM_HOME=/gems", "MAVEN_ARGS=-B", "GRADLE_USER_HOME=/elsewhere")
	for name, want := range map[string]string{
		"CARGO_HOME": "/c/cargo", "GRADLE_USER_HOME": "/c/gradle", "GRADLE_RO_DEP_CACHE": "",
		"GOPROXY": "file://" + downloads + ",https://mine.example", "MAVEN_ARGS": "-B -Dmaven.repo.local.tail=" + repository,
		"NUGET_FALLBACK_PACKAGES": packages, "GEM_HOME": "/c/gems", "GEM_PATH": "/c/gems:/gems:",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, not %q", name, got[name], want)
		}
	}
	if got := env()["GRADLE_RO_DEP_CACHE"]; got != filepath.Dir(modules) {
		t.Errorf("Gradle reads %q", got)
	}
	if got := env("GEM_HOME=/gems", "GEM_PATH=/a:/b")["GEM_PATH"]; got != "/c/gems:/a:/b" {
		t.Errorf("Ruby reads %q", got)
	}
	p = Project{User: user, MayWrite: func(string) bool { return false }}
	online := p.Open("/c").Environ([]string{"GOPROXY=https://a.example,direct"}, true)
	if want := "GOPROXY=https://a.example|file://" + downloads + ",direct"; !slices.Contains(online, want) {
		t.Errorf("%v", online)
	}
}

// Prune removes caches that were unused for long, including read-only folders. The others stay, and links are
// not followed.
func TestPrune(t *testing.T) {
	home, work, out := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(out, "kept"), "x")
	old, used := of(t, home, "", folder(t, work, "old")), of(t, home, "", folder(t, work, "used"))
	write(t, filepath.Join(old, "go-mod", "m", "f"), "12345")
	if err := os.Symlink(out, filepath.Join(old, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(old, "go-mod", "m"), 0o500); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-31 * 24 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	removed, err := Prune(t.Context(), home, false)
	if err != nil || len(removed) != 1 || removed[0].Name != filepath.Base(old) || removed[0].Size < 5 {
		t.Errorf("%+v: %v", removed, err)
	}
	if _, err := os.Stat(used); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(out, "kept")); err != nil {
		t.Error(err)
	}
	if err := os.Chtimes(used, past, past); err != nil {
		t.Fatal(err)
	}
	if again, err := Prune(t.Context(), home, false); err != nil || again != nil {
		t.Errorf("twice a day: %v: %v", again, err)
	}
	if gone, err := Remove(t.Context(), home, filepath.Base(used)); err != nil || gone.Name != filepath.Base(used) {
		t.Errorf("%+v: %v", gone, err)
	}
	for _, name := range []string{"nowhere", "..", ".", "../x", ".pruned"} {
		if _, err := Remove(t.Context(), home, name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	if list, err := List(t.Context(), t.TempDir()); err != nil || list != nil {
		t.Errorf("%v: %v", list, err)
	}
}
