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

// Isolation has the sandbox of a run's commands and the folders that belong to it.
//
//	settings' sandbox blocks ─► sandbox.Open ─► Bash
//	temp ──────────────────────► /tmp inside; removed when the run ends
//	output ────────────────────► long outputs, which Read may read; stored as long as the session
//
// If a run is killed, the next run removes its temp folder, and its output folder if that is empty.
type Isolation struct {
	Output string // the folder of long outputs; "" without a home folder

	opened chan struct{}    // closed when the fields below are set; nil if they are already set
	box    *sandbox.Sandbox // nil if the user disabled it
	err    error            // why the sandbox could not be opened

	temp   *diskfile.ScratchDir // nil without a sandbox
	output *diskfile.ScratchDir // Output
	store  atomic.Pointer[stores.Store]

	endPrune func()
}

// Isolation returns the isolation of the commands.
func (b *Toolbox) Isolation() *Isolation { return b.isolation }

// isolationOptions configures openIsolation.
type isolationOptions struct {
	Env       *env.Env
	Settings  *settings.Settings
	Folders   []string // folders of the session
	Hosts     []string // hosts that commands may reach if the settings permit them; nil means all hosts of the settings
	Disabled  bool     // the user disabled the sandbox
	Contained bool     // the whole process is in a container
	Verbose   bool     // notices also report what the sandbox cannot do
}

// openIsolation starts opening the sandbox of a run, in parallel with other work. The user may
// disable it unless managed settings require it; nothing else disables it.
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

// Ready waits for the sandbox, and returns an error if it is required but not available.
func (b *Isolation) Ready() error {
	if b.opened != nil {
		<-b.opened
	}
	return b.err
}

// Sandbox returns the sandbox after [Isolation.Ready]; nil if the user disabled it.
func (b *Isolation) Sandbox() *sandbox.Sandbox {
	_ = b.Ready()
	return b.box
}

func (b *Isolation) open(o *isolationOptions, home string) (*sandbox.Sandbox, error) {
	e := o.Env
	var cacheDir string // "" in a container, because the caches are in the container's home folder
	if !o.Contained {
		var err error
		if cacheDir, err = caches.DirFor(home, &caches.User{Home: e.UserHome(), Get: e.Lookup}, o.Folders[0]); err != nil {
			e.Warn("commands cannot write caches: %v", err)
			cacheDir = ""
		}
		b.endPrune = caches.StartPruning(home)
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
		Folders: o.Folders, Home: e.UserHome(), State: []string{home}, Temp: b.temp.Path, Caches: cacheDir, Ask: shell.AskHost, InContainer: o.Contained,
		Quarantine: string(quarantine.Open(home)), NamespacesFile: filepath.Join(home, "namespaces"),
	})
	if err != nil {
		return nil, env.NoSandboxError(err)
	}
	if o.Verbose {
		for _, n := range box.Notices() {
			e.Warn("sandbox: %s", n)
		}
	}
	return box, nil
}

// CheckNoSandbox reports that commands are not confined. If managed settings require the sandbox,
// it returns an error.
func CheckNoSandbox(e *env.Env, s *settings.Settings) error {
	managed := func(b settings.Sandbox) bool {
		return b.Origin.Layer == layernames.Managed && (b.Settings.Enabled == nil || *b.Settings.Enabled)
	}
	if i := slices.IndexFunc(s.Sandboxes, managed); i >= 0 {
		return &outcome.Failure{
			Message: "--no-sandbox: the administrator's settings require the sandbox (" + settings.OriginText(s.Sandboxes[i].Origin) + ")",
			Advice:  "omit --no-sandbox", Result: outcome.Denied,
		}
	}
	e.Warn("commands run without the kernel sandbox (--no-sandbox)")
	return nil
}

// OpenOutput creates the folder for the run's long outputs.
func (b *Isolation) OpenOutput(e *env.Env) error {
	home, err := e.Home()
	if err != nil {
		return nil //nolint:nilerr // without a home folder there is no place for them
	}
	parent := filepath.Join(home, "output")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("folder for outputs: %w", err)
	}
	if b.output, err = diskfile.OpenScratch(parent, "run-", os.Remove); err != nil { // only an empty folder is removed
		return fmt.Errorf("folder for outputs: %w", err)
	}
	b.Output = settings.Resolve(b.output.Path)
	return nil
}

// UseStore sets the store of the run's session. Outputs are stored in the same way as the session's
// records, and for the same time. Without a store they are removed at the end of the run.
func (b *Isolation) UseStore(s *stores.Store) { b.store.Store(s) }

// Store returns the store set by UseStore, or nil.
func (b *Isolation) Store() *stores.Store { return b.store.Load() }

// forgetOutputs removes the outputs of a run if its sessions are in memory, and so end with the
// run, or are stored on the host of a container.
func (b *Isolation) forgetOutputs() {
	if s := b.Store(); b.Output == "" || s != nil && !s.Ref.InMemory() {
		return
	}
	entries, _ := os.ReadDir(b.Output)
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(b.Output, e.Name()))
	}
}

// Status returns the description of the sandbox for approval requests, and the digest of its
// settings.
func (b *Isolation) Status() (words, digest string) {
	box := b.Sandbox()
	if box == nil {
		return "", ""
	}
	return box.Status(), box.Digest()
}

// AutoAllow returns the place where autoAllowBashIfSandboxed is set, if it is in effect.
func (b *Isolation) AutoAllow() *policy.Origin {
	box := b.Sandbox()
	if box == nil {
		return nil
	}
	return box.AutoAllow()
}

// Close stops everything that still runs and removes the folders.
func (b *Isolation) Close() {
	box := b.Sandbox()
	if b.endPrune != nil {
		b.endPrune()
	}
	if box != nil {
		_ = box.Close()
	}
	b.forgetOutputs()
	for _, s := range []*diskfile.ScratchDir{b.temp, b.output} {
		if s != nil {
			_ = s.Close()
		}
	}
}
