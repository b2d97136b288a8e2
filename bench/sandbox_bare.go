//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/bench/spawn"
	"github.com/holdfast-dev/holdfast/internal/sandbox/seccomp"
)

// bare is a process that makes only the system calls that Holdfast's sandbox makes. Its time is the
// lower limit for starts in the sandbox.
const bare = "bare"

// addBare adds the controls for the rows of Holdfast. The controls are written in C; on a machine
// without a C compiler they are listed as absent.
func (s *sandboxBench) addBare(ctx context.Context, folder string) error {
	why := ""
	cc, err := exec.LookPath("cc")
	if err != nil {
		why = "cc is not on PATH"
	} else if err := s.launchBare(ctx, cc); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		way  spawn.Way
	}{
		{nameBareWeaker, "bare weaker"},
		{nameBareNamespaces, "bare namespaces"},
		{nameBareListener, "bare listener"},
	} {
		r := s.addRunner(c.name, "", bare, "", folder, "/bin/true")
		r.ask.Way, r.absent = c.way, why
	}
	return nil
}

// launchBare compiles the control and starts it with Holdfast's system call filter.
func (s *sandboxBench) launchBare(ctx context.Context, cc string) error {
	program, filter := filepath.Join(s.dir, "bare"), filepath.Join(s.dir, "filter")
	code, err := seccomp.Filter(nil)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, code); err != nil {
		return err
	}
	if err := os.WriteFile(filter, b.Bytes(), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, cc, "-O2", "-o", program, filepath.Join("bench", "bare", "bare.c"))
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	return s.launch(bare, exec.CommandContext(ctx, program, filter))
}
