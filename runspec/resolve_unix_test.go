//go:build unix

package runspec_test

import (
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/runspec"
)

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte(`{"maxTurns": 1}`), 0o600) }()
	if err := os.WriteFile(filepath.Join(dir, "s.json"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := runspec.Spec{
		Model: "scripted/play", Cwd: "shop", AddDirs: []string{"lib", "/abs"},
		Permissions: runspec.Permissions{Settings: []string{"s.json", "pipe", `{"x": 1}`}}, MCP: runspec.MCP{Configs: []string{"gone.json"}},
	}
	if err := s.Resolve(dir); err != nil {
		t.Fatal(err)
	}
	want := runspec.Spec{
		Model: "scripted/" + filepath.Join(dir, "play"), Cwd: filepath.Join(dir, "shop"), AddDirs: []string{filepath.Join(dir, "lib"), "/abs"},
		Permissions: runspec.Permissions{Settings: []string{filepath.Join(dir, "s.json"), `{"maxTurns": 1}`, `{"x": 1}`}},
		MCP:         runspec.MCP{Configs: []string{filepath.Join(dir, "gone.json")}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("resolved to %+v\nwant %+v", s, want)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
