package caches

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The user's caches are readable through links, except those that tools write. Links that a command planted
// are not followed.
func TestLinks(t *testing.T) {
	home, user, work := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(user, ".cache", "models", "m"), "weights")
	write(t, filepath.Join(user, ".cache", "pip", "x"), "wheel")
	at := of(t, home, user, work)
	if b, err := os.ReadFile(filepath.Join(at, "xdg", "models", "m")); string(b) != "weights" {
		t.Errorf("%q: %v", b, err)
	}
	if _, err := os.Lstat(filepath.Join(at, "xdg", "pip")); err == nil {
		t.Error("a tool's cache is the person's")
	}
	if err := os.RemoveAll(filepath.Join(user, ".cache", "models")); err != nil {
		t.Fatal(err)
	}
	own := folder(t, at, "xdg", "own")
	if err := os.Symlink("nowhere", filepath.Join(at, "xdg", "planted")); err != nil {
		t.Fatal(err)
	}
	of(t, home, user, work)
	if list, err := os.ReadDir(filepath.Dir(own)); err != nil || len(list) != 2 {
		t.Errorf("of a link to what is gone, a folder and a link of a command's own stay %v: %v", list, err)
	}
	secret := folder(t, user, "secret")
	if err := os.RemoveAll(filepath.Join(at, "xdg")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(at, "xdg")); err != nil {
		t.Fatal(err)
	}
	of(t, home, user, work) // which affects only the command itself
	if list, _ := os.ReadDir(secret); len(list) > 0 {
		t.Errorf("%v was made behind a planted link", list)
	}
}

// Cargo's and Gradle's folders belong to the project, and the user's downloads are readable in them.
func TestViews(t *testing.T) {
	home, user, work := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{
		".cargo/config.toml", ".cargo/credentials.toml", ".cargo/bin/tool", ".cargo/registry/cache/index-1/a-1.0.crate", ".cargo/registry/src/index-1/a-1.0/lib.rs",
		".cargo/registry/index/index-1/.cache/a/b/ab", ".cargo/registry/index/git-1/.git/config", ".cargo/git/db/x/HEAD",
		".gradle/gradle.properties", ".gradle/caches/modules-2/x", ".gradle/wrapper/dists/gradle-9/h/gradle-9.zip.ok", ".gradle/wrapper/dists/gradle-9/h/gradle-9.zip.lck",
		".cache/pypoetry/virtualenvs/app-1/bin/python", ".local/share/pnpm/.tools/pnpm/10.0.0/bin/pnpm", ".local/share/pnpm/store/v10/x",
	} {
		write(t, filepath.Join(user, name), name)
	}
	at := of(t, home, user, work)
	for name, want := range map[string]bool{
		"pnpm/.tools/pnpm/10.0.0": true, "pnpm-store/v10": false,
		"cargo/config.toml": true, "cargo/credentials.toml": false, "cargo/bin": false, "cargo/registry/cache/index-1/a-1.0.crate": true,
		"cargo/registry/src/index-1/a-1.0/lib.rs": true, "cargo/registry/index/index-1/.cache/a/b/ab": true, "cargo/registry/index/git-1/.git": false, "cargo/git": false,
		"gradle/gradle.properties": true, "gradle/caches": false, "gradle/wrapper/dists/gradle-9/h/gradle-9.zip.ok": true, "gradle/wrapper/dists/gradle-9/h/gradle-9.zip.lck": false,
		"poetry/virtualenvs/app-1/bin/python": true, "xdg/pypoetry": false,
	} {
		if _, err := os.Stat(filepath.Join(at, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Files that a tool adds belong to the project.
	write(t, filepath.Join(at, "cargo", "registry", "cache", "index-1", "b-1.0.crate"), "planted")
	write(t, filepath.Join(at, "cargo", "registry", "src", "index-2", "c-1.0", "lib.rs"), "planted")
	for _, name := range []string{"cache/index-1/b-1.0.crate", "src/index-2"} {
		if _, err := os.Lstat(filepath.Join(user, ".cargo", "registry", name)); err == nil {
			t.Errorf("%s is in the person's own cache", name)
		}
	}
	// The user's variables name another place.
	moved := folder(t, user, "moved")
	write(t, filepath.Join(moved, "registry", "cache", "index-1", "z-1.0.crate"), "z")
	p := &User{Home: user, Get: func(name string) string { return map[string]string{"CARGO_HOME": moved}[name] }}
	if _, err := DirFor(home, p, work); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(at, "cargo", "registry", "cache", "index-1", "z-1.0.crate")); err != nil {
		t.Error(err)
	}
}

// The user's folders are read again only when one of them has changed.
func TestLinksUnchanged(t *testing.T) {
	home, user, work := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(user, ".cargo", "registry", "cache", "index-1", "a.crate"), "a")
	at := of(t, home, user, work)
	link := filepath.Join(at, "cargo", "registry", "cache", "index-1", "a.crate")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	of(t, home, user, work)
	if _, err := os.Lstat(link); err == nil {
		t.Error("folders that have not changed were read again")
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(user, ".cargo", "registry", "cache", "index-1"), later, later); err != nil {
		t.Fatal(err)
	}
	of(t, home, user, work)
	if _, err := os.Lstat(link); err != nil {
		t.Error(err)
	}
	for _, planted := range []string{"", "x\n", "1 /\n", user} { // a command can write this
		write(t, filepath.Join(at, linkedFile), planted)
		of(t, home, user, work)
	}
}
