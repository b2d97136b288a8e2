// Package testimage provides the images for tests that start containers. `holdfast workspace image build` builds
// the same images; these contain the program of this source tree.
//
//	testprogram.Linux ──► image.Build ──► Scratch, Debian
//	HOLDFAST_TEST_DEBIAN (scripts/services) ──┘          │
//	HOLDFAST_TEST_VENDORS (scripts/services) ────────────┘ with agents
//
//	e := testimage.Engine(t)
//	id := testimage.Scratch(t)
//
// Tests of all packages share the images of a tree. A test without its requirements is skipped, and fails in CI.
//
// The package is for tests only.
package testimage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"github.com/holdfast-dev/holdfast/internal/workspace/image"
)

// Engine connects to the machine's engine for tests, until the test ends.
func Engine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.Connect(t.Context(), testneed.Engine(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Scratch returns the id of the scratch image with the holdfast of this tree.
func Scratch(t testing.TB) string {
	t.Helper()
	return build(t, Engine(t), image.Spec{Variant: image.Scratch})
}

// Debian returns the id of a Debian image with the holdfast of this tree, and with agents: "claude", "codex".
func Debian(t testing.TB, with ...string) string {
	t.Helper()
	e := Engine(t)
	packages := os.Getenv("HOLDFAST_TEST_VENDORS")
	if packages == "" && len(with) > 0 {
		testneed.Heavy(t, `no packages of agents: eval "$(scripts/services env vendors)" makes this run`)
	}
	return build(t, e, image.Spec{Variant: image.Debian, Base: Base(t, e), Agents: with, Packages: packages})
}

func build(t testing.TB, e *engine.Engine, s image.Spec) string {
	t.Helper()
	s.Binary, s.Folder = testprogram.Linux(t), cache(t)
	s.Tag = fmt.Sprintf("holdfast-test/workspace:%s-%s", strings.Join(append([]string{s.Variant}, s.Agents...), "-"), digest(t, s.Binary))
	id, err := image.Build(t.Context(), e, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Base returns the name of a small Debian base image in the engine.
func Base(t testing.TB, e *engine.Engine) string {
	t.Helper()
	tar := os.Getenv("HOLDFAST_TEST_DEBIAN")
	if tar == "" {
		testneed.Root(t, "making a Debian")
		testneed.Heavy(t, `no Debian: eval "$(scripts/services env debian)" makes this run`)
	}
	f, err := os.Open(tar)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	ref := fmt.Sprintf("holdfast-test/debian:%d-%d", st.Size(), st.ModTime().Unix())
	defer lockFolder(t, filepath.Join(cache(t), "base"))()
	if _, err := e.Image(t.Context(), ref); err == nil {
		return ref
	} else if !errors.Is(err, engine.ErrNoImage) {
		t.Fatal(err)
	}
	if _, err := e.Import(t.Context(), f, ref, nil); err != nil {
		t.Fatal(err)
	}
	return ref
}

// cache returns the folder that tests of this user share.
func cache(t testing.TB) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "holdfast-test", "image")
}

// lockFolder creates a folder and waits until no other test uses it. The returned function releases it.
func lockFolder(t testing.TB, dir string) (leave func()) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for {
		got, err := diskfile.TryLock(f)
		if err != nil {
			t.Fatal(err)
		}
		if got {
			return func() { _ = f.Close() }
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// digest returns the beginning of a file's sha256.
func digest(t testing.TB, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}
