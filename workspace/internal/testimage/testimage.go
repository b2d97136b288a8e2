// Package testimage has the images that tests start containers of: those that
// `holdfast workspace image build` makes, of the program of this tree.
//
//	go build ./cmd/holdfast ──► Binary ──► image.Build ──► Scratch, Debian
//	HOLDFAST_TEST_DEBIAN (scripts/services) ─────────┘          │
//	HOLDFAST_TEST_VENDORS (scripts/services) ───────────────────┘ with agents
//
//	e := testimage.Engine(t)
//	id := testimage.Scratch(t)
//
// Tests of all packages share what is built: the second one of a tree finds it there. A
// test that lacks what it needs is skipped, and fails in CI.
//
// The package is for tests only.
package testimage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/missing"
	"github.com/holdfast-dev/holdfast/workspace/image"
	"github.com/holdfast-dev/holdfast/workspace/internal/engine"
)

// Engine connects to the engine that the machine has for tests, until the test ends.
func Engine(t testing.TB) *engine.Engine {
	t.Helper()
	host := os.Getenv("HOLDFAST_TEST_DOCKER")
	if host == "" {
		missing.Skip(t, `no container engine: eval "$(scripts/services start docker)" makes this run`)
	}
	e, err := engine.Connect(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Binary is the path of a static holdfast for Linux: HOLDFAST_TEST_BINARY, or one of
// this tree, which another test may replace by that of a later state of the tree.
func Binary(t testing.TB) string {
	t.Helper()
	p := enter(t)
	defer p.leave()
	return p.binary(t)
}

// Scratch is the id of the scratch image with the holdfast of this tree, in the engine
// that the machine has for tests.
func Scratch(t testing.TB) string {
	t.Helper()
	e, p := Engine(t), enter(t)
	defer p.leave()
	return p.build(t, e, image.Spec{Variant: image.Scratch})
}

// Debian is the id of a Debian image with the holdfast of this tree, and with agents:
// "claude", "codex".
func Debian(t testing.TB, with ...string) string {
	t.Helper()
	e := Engine(t)
	packages := os.Getenv("HOLDFAST_TEST_VENDORS")
	if packages == "" && len(with) > 0 {
		missing.Skip(t, `no packages of agents: eval "$(scripts/services env vendors)" makes this run`)
	}
	base, p := Base(t, e), enter(t)
	defer p.leave()
	return p.build(t, e, image.Spec{Variant: image.Debian, Base: base, With: with, Packages: packages})
}

// Base is the name of a small Debian in the engine, to make images of.
func Base(t testing.TB, e *engine.Engine) string {
	t.Helper()
	tar := os.Getenv("HOLDFAST_TEST_DEBIAN")
	if tar == "" {
		missing.Skip(t, `no Debian: eval "$(scripts/services env debian)" makes this run`)
	}
	p := enter(t)
	defer p.leave()
	return p.base(t, e, tar)
}

// place is a folder of the machine that tests of one tree share, and the right to be in
// it alone.
type place struct {
	root string // of the tree
	dir  string
	file *os.File
}

func enter(t testing.TB) *place {
	t.Helper()
	root, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{root: root, dir: filepath.Join(cache, "holdfast-test", "image", short(root))}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if p.file, err = os.OpenFile(filepath.Join(p.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		got, err := diskfile.TryLock(p.file)
		if err != nil {
			t.Fatal(err)
		}
		if got {
			return p
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (p *place) leave() { _ = p.file.Close() }

// binary builds the program, which takes a second when nothing has changed.
func (p *place) binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("HOLDFAST_TEST_BINARY"); path != "" {
		return path
	}
	out := filepath.Join(p.dir, "holdfast")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "./cmd/holdfast")
	build.Dir = p.root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH, "GOFLAGS=")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build ./cmd/holdfast: %v: %s", err, said)
	}
	return out
}

func (p *place) build(t testing.TB, e *engine.Engine, s image.Spec) string {
	t.Helper()
	s.Binary = p.binary(t)
	sum, err := digest(s.Binary)
	if err != nil {
		t.Fatal(err)
	}
	s.Tag = fmt.Sprintf("holdfast-test/workspace:%s-%s", strings.Join(append([]string{s.Variant}, s.With...), "-"), sum)
	s.Folder = p.dir
	id, err := image.Build(t.Context(), e, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// base brings the Debian into the engine, once.
func (p *place) base(t testing.TB, e *engine.Engine, tar string) string {
	t.Helper()
	st, err := os.Stat(tar)
	if err != nil {
		t.Fatal(err)
	}
	ref := fmt.Sprintf("holdfast-test/debian:%d-%d", st.Size(), st.ModTime().Unix())
	if _, err := e.Image(t.Context(), ref); err == nil {
		return ref
	} else if !errors.Is(err, engine.ErrNoImage) {
		t.Fatal(err)
	}
	f, err := os.Open(tar)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := e.Import(t.Context(), f, ref, nil); err != nil {
		t.Fatal(err)
	}
	return ref
}

// Remove takes an image away when the test ends.
func Remove(t testing.TB, e *engine.Engine, ref string) {
	t.Helper()
	t.Cleanup(func() {
		if err := e.RemoveImage(context.WithoutCancel(t.Context()), ref); err != nil && !errors.Is(err, engine.ErrNoImage) {
			t.Error(err)
		}
	})
}

func tree() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil))[:12], err
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
