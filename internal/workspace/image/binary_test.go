package image

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// small is a small program that is a holdfast by its name. Tests share it.
var small = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-image") // removed by TestMain
	if err != nil {
		return "", err
	}
	smallDir = dir
	return dir, errors.Join(
		buildProgram(dir, "cmd/holdfast", report, "CGO_ENABLED=0"),
		buildProgram(dir, "cmd/other", "package main\n\nfunc main() {}\n", "CGO_ENABLED=0"),
	)
})

var smallDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if smallDir != "" {
		_ = os.RemoveAll(smallDir)
	}
	os.Exit(code)
}

// report prints its user and the folders that it may use.
const report = `package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	wd, _ := os.Getwd()
	fmt.Println(os.Getuid(), os.Getgid(), wd, os.Getenv("HOME"), os.Getenv("PATH") != "")
	for _, dir := range []string{"/", "/home/agent", "/work", "/tmp", "/var/tmp", "/run/holdfast"} {
		st, err := os.Stat(dir)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(dir, st.Mode(), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600) == nil)
	}
}
`

func buildProgram(dir, name, source string, env ...string) error {
	at := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(
		os.MkdirAll(at, 0o700),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/small\n"), 0o600),
		os.WriteFile(filepath.Join(at, "main.go"), []byte(source), 0o600),
	); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, filepath.Base(name)), "./"+name)
	build.Dir = dir
	build.Env = append(append(os.Environ(), "GOOS=linux", "GOFLAGS=", "GOWORK=off"), env...)
	if out, err := build.CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}

// holdfast returns the path of the small program.
func holdfast(t testing.TB) string {
	t.Helper()
	dir, err := small()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "holdfast")
}

func TestBinary(t *testing.T) {
	good := holdfast(t)
	b, err := openBinary(good, runtime.GOARCH)
	if err != nil || b.arch != runtime.GOARCH || len(b.sum) != 64 || b.size < 1000 {
		t.Fatalf("%+v, %v", b, err)
	}
	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	strange := bytes.Clone(content)
	strange[18] = 0xf3 // RISC-V
	for path, want := range map[string]string{
		filepath.Join(filepath.Dir(good), "other"): "it is example.org/small/cmd/other",
		put("strange", strange):                    "it is for the processor EM_RISCV",
		put("script", []byte("#!/bin/sh\n")):       "it is not an ELF program",
		put("cut", content[:4000]):                 "",
		put("empty", nil):                          "it is not an ELF program",
		dir:                                        "it is not a regular file",
	} {
		_, err := openBinary(path, runtime.GOARCH)
		if f, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrBinary) || !strings.Contains(err.Error(), want) || !strings.Contains(f.Hint(), "GOARCH="+runtime.GOARCH) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if runtime.GOOS == "linux" {
		if _, err := openBinary("/bin/sh", runtime.GOARCH); !errors.Is(err, ErrBinary) || !strings.Contains(err.Error(), "it is not statically linked") {
			t.Errorf("a shell: %v", err)
		}
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	if _, err := openBinary(good, other); !errors.Is(err, ErrBinary) || !strings.Contains(err.Error(), "the engine runs on "+other) {
		t.Errorf("%v", err)
	}
	if _, err := openBinary(filepath.Join(dir, "none"), runtime.GOARCH); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := openBinary("", runtime.GOARCH); !errors.Is(err, ErrBinary) { // the test program is not a holdfast
		t.Errorf("%v", err)
	}
}
