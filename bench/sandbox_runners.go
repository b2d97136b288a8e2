//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/bench/spawn"
)

// The names of the runners that addRows compares with others.
const (
	namePlain  = "plain fork+exec"
	nameKernel = "network namespace"

	nameWeaker    = "Landlock and seccomp alone"
	nameNoSockets = "namespaces without network"
	nameListener  = "network namespace with listener"

	nameOpen  = "sandbox.Open, Command"
	nameExec  = "holdfast sandbox exec"
	nameAlone = "holdfast sandbox exec as a separate program"
	nameEqual = "bubblewrap, equal policy"

	nameBareWeaker     = "bare: Landlock and seccomp"
	nameBareNamespaces = "bare: namespaces, mounts, Landlock and seccomp"
	nameBareListener   = "bare: these, a network and a listener"
)

// addRunners adds the runners. A runner that this machine lacks is listed with the reason.
func (s *sandboxBench) addRunners(ctx context.Context) error {
	folder, err := s.workspace(ctx, "folder", false)
	if err != nil {
		return err
	}
	repository, err := s.workspace(ctx, "repository", true)
	if err != nil {
		return err
	}
	s.inProcess(folder, repository)
	if err := s.addBare(ctx, folder); err != nil {
		return err
	}
	holdfast, err := s.build(ctx, "./cmd/holdfast", "holdfast")
	if err != nil {
		return err
	}
	alone, err := s.build(ctx, "./bench/execonly", "execonly")
	if err != nil {
		return err
	}
	s.addRunner(nameExec, "", usual, spawn.Fork, repository, holdfast, "sandbox", "exec", "--", "/bin/true")
	s.addRunner(nameAlone, "", usual, spawn.Fork, repository, alone, "sandbox", "exec", "--", "/bin/true")
	return s.others(ctx, holdfast, repository)
}

// workspace creates a folder for commands, with a repository or without.
func (s *sandboxBench) workspace(ctx context.Context, name string, git bool) (string, error) {
	dir := filepath.Join(s.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if !git {
		return dir, nil
	}
	cmd := exec.CommandContext(ctx, "git", "init", "-q", dir)
	cmd.Stderr = os.Stderr
	return dir, cmd.Run()
}

func (s *sandboxBench) addRunner(name, goal, build string, way spawn.Way, dir string, argv ...string) *runner {
	r := &runner{name: name, goal: goal, build: build, ask: spawn.Ask{Way: way, Argv: argv, Dir: dir, Env: s.environ()}}
	s.runners = append(s.runners, r)
	return r
}

// environ is the environment of all runners. HOME is the user's home folder, whose secrets are
// hidden, and there are no settings.
func (s *sandboxBench) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "HOLDFAST_HOME=" + filepath.Join(s.dir, "home")}
}

// inProcess adds the starts that a running program makes with Holdfast's packages.
func (s *sandboxBench) inProcess(folder, repository string) {
	for _, r := range []struct {
		name, goal, build string
		way               spawn.Way
		dir               string
	}{
		{namePlain, "", usual, spawn.Fork, folder},
		{"os/exec", "", usual, spawn.OSExec, folder},
		{"plain, where namespaces are refused", "", refused, spawn.Fork, folder},
		{nameWeaker, "≤ 1.2 ×", refused, spawn.Weaker, folder},
		{nameNoSockets, "≤ 1.6 ×", usual, spawn.NoSockets, folder},
		{nameKernel, "≤ 2.0 ×", usual, spawn.NoNetwork, folder},
		{"network namespace, refusals reported", "≤ 2.0 ×", usual, spawn.Reporting, folder},
		{nameListener, "≤ 2.4 ×", usual, spawn.Proxy, folder},
		{"network namespace, by re-exec", "≤ 4.5 ×", again, spawn.NoNetwork, folder},
		{nameOpen, "≤ 2.0 ×", usual, spawn.Open, folder},
		{"sandbox.Open, Command: in a git repository", "≤ 2.0 ×", usual, spawn.Open, repository},
		{"sandbox.Open, Command: with proxy", "≤ 2.4 ×", usual, spawn.OpenProxy, folder},
	} {
		s.addRunner(r.name, r.goal, r.build, r.way, r.dir, "/bin/true")
	}
}

// others adds other sandboxes. Each is started as its users start it, with a writable repository
// and no network.
func (s *sandboxBench) others(ctx context.Context, holdfast, repository string) error {
	twin, err := s.workspace(ctx, "twin", true)
	if err != nil {
		return err
	}
	for _, o := range []struct {
		name, program string
		argv          func(path string) ([]string, error)
	}{
		{"bubblewrap --ro-bind / /", "bwrap", func(path string) ([]string, error) {
			return []string{path, "--ro-bind", "/", "/", "/bin/true"}, nil
		}},
		{nameEqual, "bwrap", func(path string) ([]string, error) {
			empty, err := s.workspace(ctx, "empty-folder", false)
			if err != nil {
				return nil, err
			}
			return bubblewrapArgs(ctx, path, holdfast, repository, twin, empty, s.environ())
		}},
		{"landrun", "landrun", func(path string) ([]string, error) {
			return []string{path, "--rox", "/", "--rw", twin, "/bin/true"}, nil
		}},
		{"codex sandbox", "codex", func(path string) ([]string, error) {
			return []string{path, "sandbox", "-c", `sandbox_mode="workspace-write"`, "--", "/bin/true"}, nil
		}},
		{"srt", "srt", s.srt},
	} {
		r := s.addRunner(o.name, "", usual, spawn.Fork, twin)
		path, err := exec.LookPath(o.program)
		if err != nil {
			r.absent = o.program + " is not on PATH"
			continue
		}
		if r.ask.Argv, err = o.argv(path); err != nil {
			return err
		}
	}
	s.containers(twin)
	return nil
}

// srt writes the settings file of the program srt and returns its command line.
func (s *sandboxBench) srt(path string) ([]string, error) {
	const settings = `{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}`
	file := filepath.Join(s.dir, "srt.json")
	return []string{path, "-s", file, "/bin/true"}, os.WriteFile(file, []byte(settings), 0o600)
}

// containers adds docker exec in a container that the user started for the benchmark.
func (s *sandboxBench) containers(dir string) {
	r := s.addRunner("docker exec", "", usual, spawn.Fork, dir)
	docker, err := exec.LookPath("docker")
	switch {
	case err != nil:
		r.absent = "docker is not on PATH"
	case strings.HasPrefix(s.container, "-") || s.container == "":
		r.absent = "no container is named by -container"
	default:
		r.ask.Argv = []string{docker, "exec", s.container, "/bin/true"}
	}
}
