package version

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goproxy writes a module proxy of files that has these versions of this module, as small as can be: this
// package and a program that prints its answer.
func goproxy(t *testing.T, versions ...string) (folder string) {
	t.Helper()
	source, err := os.ReadFile("version.go")
	if err != nil {
		t.Fatal(err)
	}
	const module, mod = "github.com/holdfast-dev/holdfast", "module github.com/holdfast-dev/holdfast\n\ngo 1.26\n"
	folder = t.TempDir()
	dir := filepath.Join(folder, module, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range versions {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, text := range map[string]string{
			"go.mod":                      mod,
			"internal/version/version.go": string(source),
			"cmd/holdfast/main.go": "package main\n\nimport (\n\t\"os\"\n\n\t\"" + module + "/internal/version\"\n)\n\n" +
				"func main() {\n\ttext, _ := version.PrintEarly(os.Args[1:])\n\t_, _ = os.Stdout.WriteString(text)\n}\n",
		} {
			w, err := z.Create(module + "@" + v + "/" + name)
			if err == nil {
				_, err = w.Write([]byte(text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		write(v+".zip", b.Bytes())
		write(v+".mod", []byte(mod))
		write(v+".info", fmt.Appendf(nil, `{"Version": %q, "Time": "2026-11-28T05:44:29Z"}`, v))
	}
	write("list", []byte(strings.Join(versions, "\n")+"\n"))
	return folder
}

// A program that `go install` has made says the version that was asked for.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds four small programs")
	}
	const commit = "v0.9.1-0.20261128054429-298f9efd0000"
	proxy, cache := goproxy(t, "v0.9.0", commit), t.TempDir()
	install := func(args ...string) string {
		t.Helper()
		bin := t.TempDir()
		cmd := exec.Command("go", append([]string{"install"}, args...)...)
		cmd.Dir = bin
		cmd.Env = append(os.Environ(), "GOPROXY=file://"+proxy, "GONOSUMDB=*", "GOFLAGS=-modcacherw", "GOMODCACHE="+cache, "GOBIN="+bin, "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go install %q: %v\n%s", args, err, out)
		}
		out, err := exec.Command(filepath.Join(bin, "holdfast"), "version").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	const program = "github.com/holdfast-dev/holdfast/cmd/holdfast@"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{program + "v0.9.0"}, "holdfast 0.9.0 go"},
		{[]string{"-trimpath", program + "latest"}, "holdfast 0.9.0 go"},
		{[]string{program + commit}, "holdfast " + next + "-dev (298f9efd0000) go"},
		{[]string{"-ldflags=-X github.com/holdfast-dev/holdfast/internal/version.release=1.0.0 -X github.com/holdfast-dev/holdfast/internal/version.revision=abc", program + "v0.9.0"}, "holdfast 1.0.0 (abc) go"},
	} {
		if got := install(tt.args...); !strings.HasPrefix(got, tt.want) {
			t.Errorf("go install %q: %s, want %s…", tt.args, got, tt.want)
		}
	}
}
