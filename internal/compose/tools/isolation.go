package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sandbox/caches"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// Isolation holds the commands of a run: their sandbox, with the folders that go with it.
//
//	settings' sandbox blocks ─► sandbox.Open ─► Bash
//	temp ──────────────────────► /tmp inside; removed when the run ends
//	output ────────────────────► long outputs, which Read may read; kept as long as the session
//
// What a killed run left of the two folders, the next one removes.
type Isolation struct {
	Output string // the folder of long outputs; "" without a home

	opened chan struct{}    // closed when what follows is there; nil: at once
	box    *sandbox.Sandbox // nil when the person does without
	err    error            // why it could not be opened

	temp  *diskfile.ScratchDir // nil without a sandbox
	kept  *diskfile.ScratchDir // Output
	store atomic.Pointer[stores.Store]

	endPrune func()
}

// Isolation is what holds commands.
func (b *Toolbox) Isolation() *Isolation { return b.isolation }

// isolationOptions say how commands are held.
type isolationOptions struct {
	Env       *env.Env
	Settings  *settings.Settings
	Folders   []string // of the session
	Hosts     []string // may be reached, as far as the settings let them; nil: what the settings say
	Disabled  bool     // the person does without the sandbox
	Contained bool     // a container holds the whole process
	Verbose   bool     // notices say what the sandbox cannot do
}

// openIsolation begins to open the sandbox of a run, beside other work. The person may do without it
// unless an administrator wants it; nothing else makes a run do without.
func openIsolation(o *isolationOptions) (b *Isolation, err error) {
	b = &Isolation{}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	e := o.Env
	if o.Disabled {
		return b, CheckNoSandbox(e, o.Settings)
	}
	if b.temp, err = diskfile.OpenScratch(e.Lookup("TMPDIR"), "holdfast-run-", os.RemoveAll); err != nil {
		return b, fmt.Errorf("temporary folder of the run: %w", err)
	}
	home, err := e.Home()
	if err != nil {
		return b, err
	}
	b.opened = make(chan struct{})
	go func() {
		defer close(b.opened)
		b.box, b.err = b.open(o, home)
	}()
	return b, nil
}

// Ready waits for the sandbox, and says why there is none when a run must have one.
func (b *Isolation) Ready() error {
	if b.opened != nil {
		<-b.opened
	}
	return b.err
}

// Sandbox is the sandbox of a run that is [Isolation.Ready]; nil when the person does without.
func (b *Isolation) Sandbox() *sandbox.Sandbox {
	_ = b.Ready()
	return b.box
}

func (b *Isolation) open(o *isolationOptions, home string) (*sandbox.Sandbox, error) {
	e := o.Env
	var kept string // none in a container: its own home has the caches
	if !o.Contained {
		var err error
		if kept, err = caches.DirFor(home, &caches.User{Home: e.UserHome(), Get: e.Lookup}, o.Folders[0]); err != nil {
			e.Warn("commands cannot write caches: %v", err)
			kept = ""
		}
		b.endPrune = caches.Pruning(home)
	}
	checkers := o.Settings.Checkers()
	if o.Hosts != nil {
		open, err := sandbox.NewChecker(&sandbox.Settings{Network: &sandbox.Network{AllowedDomains: o.Hosts}}, &sandbox.Options{
			Home: e.UserHome(), Dir: o.Settings.Project, Origin: policy.Origin{Layer: layernames.Flag}, Trusted: true,
		})
		if err != nil {
			return nil, err
		}
		checkers = append([]*sandbox.Checker{open}, checkers...)
	}
	box, err := sandbox.Open(checkers, &sandbox.OpenOptions{
		Folders: o.Folders, Home: e.UserHome(), State: []string{home}, Temp: b.temp.Path, Caches: kept, Ask: shell.AskHost, InContainer: o.Contained,
		Quarantine: string(quarantine.Open(home)), NamespacesFile: filepath.Join(home, "namespaces"),
	})
	if err != nil {
		return nil, env.NoSandbox(err)
	}
	if o.Verbose {
		for _, n := range box.Notices() {
			e.Warn("sandbox: %s", n)
		}
	}
	return box, nil
}

// CheckNoSandbox says that nothing holds commands, or refuses that.
func CheckNoSandbox(e *env.Env, s *settings.Settings) error {
	managed := func(b settings.Sandbox) bool {
		return b.Origin.Layer == layernames.Managed && (b.Settings.Enabled == nil || *b.Settings.Enabled)
	}
	if i := slices.IndexFunc(s.Sandboxes, managed); i >= 0 {
		return &outcome.Failure{
			Message: "--no-sandbox: the administrator's settings want the sandbox (" + settings.OriginText(s.Sandboxes[i].Origin) + ")",
			Advice:  "leave --no-sandbox out", Result: outcome.Denied,
		}
	}
	e.Warn("commands run without the kernel sandbox (--no-sandbox)")
	return nil
}

// OpenOutput makes the folder for the run's long outputs.
func (b *Isolation) OpenOutput(e *env.Env) error {
	home, err := e.Home()
	if err != nil {
		return nil //nolint:nilerr // without a home there is nowhere to keep them
	}
	parent := filepath.Join(home, "output")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("folder for outputs: %w", err)
	}
	if b.kept, err = diskfile.OpenScratch(parent, "run-", os.Remove); err != nil { // a folder that is not empty stays
		return fmt.Errorf("folder for outputs: %w", err)
	}
	b.Output = settings.Resolve(b.kept.Path)
	return nil
}

// UseStore names the store that the run's session is kept in: outputs are kept as it keeps
// records, and as long. Without one they end with the run.
func (b *Isolation) UseStore(s *stores.Store) { b.store.Store(s) }

// Store is what UseStore was called with, or nil.
func (b *Isolation) Store() *stores.Store { return b.store.Load() }

// forgetOutputs removes the outputs of a run whose sessions end with it, or are kept
// elsewhere: in memory, or on the host of a container.
func (b *Isolation) forgetOutputs() {
	if s := b.Store(); b.Output == "" || s != nil && !s.Ref.InMemory() {
		return
	}
	entries, _ := os.ReadDir(b.Output)
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(b.Output, e.Name()))
	}
}

// Status is what questions say about the sandbox, and the digest of what it holds to.
func (b *Isolation) Status() (words, digest string) {
	box := b.Sandbox()
	if box == nil {
		return "", ""
	}
	return box.Status(), box.Digest()
}

// AutoAllow is where autoAllowBashIfSandboxed was set, when it holds.
func (b *Isolation) AutoAllow() *policy.Origin {
	box := b.Sandbox()
	if box == nil {
		return nil
	}
	return box.AutoAllow()
}

// Close ends what still runs and removes the folders.
func (b *Isolation) Close() {
	box := b.Sandbox()
	if b.endPrune != nil {
		b.endPrune()
	}
	if box != nil {
		_ = box.Close()
	}
	b.forgetOutputs()
	for _, s := range []*diskfile.ScratchDir{b.temp, b.kept} {
		if s != nil {
			_ = s.Close()
		}
	}
}
