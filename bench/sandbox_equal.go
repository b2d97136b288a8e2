//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// bubblewrapArgs returns bubblewrap's command line for the mounts that `holdfast sandbox exec` makes in a
// folder. It runs a command in the sandbox to read these mounts. The command line has no Landlock
// rules, system call filter or limits, because bubblewrap does not support them. It is for the
// folder twin, which is a copy of folder.
func bubblewrapArgs(ctx context.Context, bwrap, holdfast, folder, twin, empty string, env []string) ([]string, error) {
	cmd := exec.CommandContext(ctx, holdfast, "sandbox", "exec", "--", "/bin/cat", "/proc/self/mountinfo")
	cmd.Dir, cmd.Env, cmd.Stderr = folder, env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the mounts of Holdfast's sandbox: %w", err)
	}
	mounts, err := parseMounts(string(out))
	if err != nil {
		return nil, err
	}
	args := []string{
		bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",
		"--bind", twin, twin,
	}
	n := len(args)
	for _, m := range mounts {
		args = append(args, m.flags(folder, twin, empty)...)
	}
	if len(args) == n {
		return nil, errors.New("Holdfast's sandbox has no mounts that hide or protect anything")
	}
	return append(args, "--chdir", twin, "/bin/true"), nil
}

// mount is the part of a line of /proc/self/mountinfo that is needed here.
type mount struct {
	root, at, kind string
	readOnly       bool
}

// parseMounts returns the mounts in the order of their paths, so that a mount inside another one
// comes after it.
func parseMounts(text string) ([]mount, error) {
	var list []mount
	spaces := strings.NewReplacer(`\040`, " ", `\134`, `\`)
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		before, after, ok := strings.Cut(s.Text(), " - ")
		f, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 6 || len(kind) == 0 {
			return nil, fmt.Errorf("mountinfo: %q cannot be read", s.Text())
		}
		list = append(list, mount{
			root: spaces.Replace(f[3]), at: spaces.Replace(f[4]), kind: kind[0],
			readOnly: slices.Contains(strings.Split(f[5], ","), "ro"),
		})
	}
	slices.SortStableFunc(list, func(a, b mount) int { return strings.Compare(a.at, b.at) })
	return list, nil
}

// flags returns bubblewrap's flags for a mount: a mask, or a protected or pinned name in the
// folder. All other mounts are the same in every command line.
func (m *mount) flags(folder, twin, empty string) []string {
	switch {
	case m.kind == "tmpfs" && m.root == "/file":
		return []string{"--ro-bind", "/dev/null", m.at}
	case m.kind == "tmpfs" && m.root == "/folder":
		return []string{"--ro-bind", empty, m.at}
	case !strings.HasPrefix(m.at, folder+"/"):
		return nil
	}
	path := twin + strings.TrimPrefix(m.at, folder)
	switch {
	case unix.Access(path, unix.F_OK) != nil: // a protected name: bubblewrap creates an empty file with this name
		return []string{"--ro-bind", "/dev/null", path}
	case m.readOnly:
		return []string{"--ro-bind", path, path}
	}
	return []string{"--bind", path, path}
}
