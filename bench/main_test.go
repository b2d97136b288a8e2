//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDuplicate(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	text := strings.Repeat("program ", 10_000)
	if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := duplicate(from, to); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	info, err2 := os.Stat(to)
	if err != nil || err2 != nil || string(got) != text || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("%d bytes, %v, %v, %v", len(got), info.Mode(), err, err2)
	}
	if err := duplicate(from, to); err == nil {
		t.Error("a file was written over")
	}
}

func TestUnknownGroup(t *testing.T) {
	b := &bench{only: "start,strat"}
	if err := b.run(context.Background()); err == nil || !strings.Contains(err.Error(), `"strat"`) {
		t.Errorf("%v", err)
	}
}
