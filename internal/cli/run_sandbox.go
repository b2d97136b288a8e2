package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/tool/shell"
)

// held is what holds the commands of a run, and the folders that go with it.
//
//	settings' sandbox blocks ─► sandbox.Open ─► Bash
//	temp ──────────────────────► /tmp inside; gone when the run ends
//	output ────────────────────► long outputs, which Read may read; stays as long as the session
//
// What a run that was killed has left of the two, the next one removes.
type held struct {
	box    *sandbox.Sandbox  // nil with --no-sandbox
	temp   *diskfile.Scratch // nil with --no-sandbox
	output string

	kept    *diskfile.Scratch // output
	program *Program          // whose store the outputs belong to
}

// hold opens the sandbox of a run that works in folders. The person may do without
// it, unless an administrator wants it; nothing else makes a run do without.
func (c *agentFlags) hold(p *Program, s *settings.Settings, folders []string, loud bool) (h *held, err error) {
	h = &held{}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if c.NoSandbox {
		return h, unheld(p, s)
	}
	if h.temp, err = diskfile.OpenScratch(p.env("TMPDIR"), "holdfast-run-", os.RemoveAll); err != nil {
		return h, fmt.Errorf("temporary folder of the run: %w", err)
	}
	home, err := p.home()
	if err != nil {
		return h, err
	}
	h.box, err = sandbox.Open(s.Checkers(), &sandbox.OpenOptions{
		Folders: folders, Home: p.userHome(), State: []string{home}, Temp: h.temp.Path, Ask: shell.AskHost, Contained: c.contained,
	})
	if err != nil {
		return h, cannotHold(err)
	}
	if loud {
		for _, n := range h.box.Notices() {
			p.warn("sandbox: %s", n)
		}
	}
	return h, nil
}

// unheld says that nothing holds commands, or refuses that.
func unheld(p *Program, s *settings.Settings) error {
	managed := func(b settings.Sandbox) bool {
		return b.Origin.Layer == policy.LayerManaged && (b.Settings.Enabled == nil || *b.Settings.Enabled)
	}
	if i := slices.IndexFunc(s.Sandboxes, managed); i >= 0 {
		return &failure{
			msg:  "--no-sandbox: the administrator's settings want the sandbox (" + settings.Where(s.Sandboxes[i].Origin) + ")",
			hint: "leave --no-sandbox out", out: outcome.Denied,
		}
	}
	p.warn("commands run without the kernel sandbox (--no-sandbox)")
	return nil
}

// cannotHold words why there is no sandbox.
func cannotHold(err error) error {
	hint := outcome.Hint(err)
	if _, ok := errors.AsType[*sandbox.OpenError](err); !ok || hint == "" || errors.Is(err, kernel.ErrUnsupported) {
		hint = "holdfast doctor says what is missing; --no-sandbox runs commands without it"
	}
	return &failure{msg: "the sandbox cannot hold commands here: " + err.Error(), hint: hint, out: outcome.Sandbox, err: err}
}

// outputs makes the folder for long outputs of this run.
func (h *held) outputs(p *Program) error {
	home, err := p.home()
	if err != nil {
		return nil //nolint:nilerr // without a home there is nowhere to keep them
	}
	parent := filepath.Join(home, "output")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("folder for outputs: %w", err)
	}
	if h.kept, err = diskfile.OpenScratch(parent, "run-", os.Remove); err != nil { // what holds something stays
		return fmt.Errorf("folder for outputs: %w", err)
	}
	h.output, h.program = settings.Resolve(h.kept.Path), p
	return nil
}

// forgetOutputs removes the outputs of a run whose sessions end with it, or lie elsewhere: in
// memory, or on the host of a container.
func (h *held) forgetOutputs() {
	if h.program == nil || h.program.opened != nil && !h.program.opened.Ref.InMemory() {
		return
	}
	entries, _ := os.ReadDir(h.output)
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(h.output, e.Name()))
	}
}

// status is what questions say about the sandbox, and the digest of what it holds to.
func (h *held) status() (words, digest string) {
	if h.box == nil {
		return "", ""
	}
	return h.box.Status(), h.box.Digest()
}

// autoAllow is where autoAllowBashIfSandboxed was set, when it holds.
func (h *held) autoAllow() *policy.Origin {
	if h.box == nil || !h.box.Merged().AutoAllow.On {
		return nil
	}
	by := h.box.Merged().AutoAllow.By
	by.Rule = "autoAllowBashIfSandboxed"
	return &by
}

func (h *held) close() {
	if h.box != nil {
		_ = h.box.Close()
	}
	h.forgetOutputs()
	for _, s := range []*diskfile.Scratch{h.temp, h.kept} {
		if s != nil {
			_ = s.Close()
		}
	}
}
