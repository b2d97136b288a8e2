package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// target is a system that a program is built for.
type target struct{ OS, Arch string }

func (t target) String() string { return t.OS + "/" + t.Arch }

func parseTargets(list string) (targets []target, err error) {
	for name := range strings.SplitSeq(list, ",") {
		system, arch, ok := strings.Cut(name, "/")
		if !ok || system != "linux" && system != "darwin" || arch != "amd64" && arch != "arm64" {
			return nil, fmt.Errorf("unknown system %q", name)
		}
		targets = append(targets, target{system, arch})
	}
	return targets, nil
}

// build is the program for one system.
type build struct {
	target
	program []byte
	info    *buildinfo.BuildInfo
	modules []module // the linked modules: that of the program first, and Go's library last
	notices []byte
}

// versionPkg is the import path of package version.
const versionPkg = "github.com/holdfast-dev/holdfast/internal/version"

// environment returns the environment of the go command: build settings of the user are ignored.
func environment(t target) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOFLAGS", "GOWORK", "GOEXPERIMENT", "GOAMD64", "GOARM64", "GOFIPS140", "GOOS", "GOARCH", "CGO_ENABLED", "GODEBUG"}, name)
	})
	return append(env, "GOFLAGS=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "CGO_ENABLED=0", "GOOS="+t.OS, "GOARCH="+t.Arch)
}

// compile builds the program for a system and returns its file.
func (r *release) compile(ctx context.Context, t target) (string, error) {
	file := filepath.Join(r.work, t.OS+"_"+t.Arch, "holdfast")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	commit, dirty, _ := strings.Cut(r.Commit, "-")
	revision := commit[:12]
	if dirty != "" {
		revision += "-" + dirty
	}
	args := append([]string{"build", "-ldflags=-s -w -X " + versionPkg + ".release=" + r.Version + " -X " + versionPkg + ".revision=" + revision, "-o", file}, r.flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/holdfast")...)
	cmd.Dir, cmd.Env, cmd.Stderr = r.root, environment(t), os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build for %s: %w", t, err)
	}
	return file, nil
}

// build builds the program for a system and reads it.
func (r *release) build(ctx context.Context, t target) (*build, error) {
	file, err := r.compile(ctx, t)
	if err != nil {
		return nil, err
	}
	b := &build{target: t}
	if b.program, err = os.ReadFile(file); err != nil {
		return nil, err
	}
	b.info, err = buildinfo.ReadFile(file)
	return b, err
}

// texts are the files that the program prints, as an archive contains them: the man page and the completions.
// They are the same for all systems.
func (r *release) texts(ctx context.Context) (map[string][]byte, error) {
	file, err := r.compile(ctx, target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for name, args := range map[string][]string{
		"man/holdfast.1":            {"man"},
		"completions/holdfast.bash": {"completion", "bash"},
		"completions/_holdfast":     {"completion", "zsh"},
		"completions/holdfast.fish": {"completion", "fish"},
		"completions/holdfast.ps1":  {"completion", "powershell"},
	} {
		cmd := exec.CommandContext(ctx, file, args...)
		cmd.Env = []string{"HOME=" + r.work, "HOLDFAST_HOME=" + r.work, "PATH=" + os.Getenv("PATH")}
		cmd.Stderr = os.Stderr
		if texts[name], err = cmd.Output(); err != nil || len(texts[name]) == 0 {
			return nil, fmt.Errorf("holdfast %s: %w", strings.Join(args, " "), err)
		}
	}
	for name, from := range map[string]string{"LICENSE": "LICENSE", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md",
		"systemd/holdfast.service": "packaging/systemd/holdfast.service", "systemd/holdfast.socket": "packaging/systemd/holdfast.socket"} {
		if texts[name], err = os.ReadFile(filepath.Join(r.root, from)); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
