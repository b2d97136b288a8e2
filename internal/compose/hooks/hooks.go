// Package hooks builds the hook registry and command runners of a run.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/hooktranscript"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// Hooks are the hooks of a run with their runners and files.
//
//	settings' hooks ─► registry ─► PinHooks ─┬─ in a sandbox ──────┐
//	                                         └─ without a sandbox ──├─► command, URL
//	temp ─► /tmp inside: the transcript for them, CLAUDE_ENV_FILE ──┘
//
// Their /tmp is separate from that of the agent's commands, which could otherwise plant files for
// hooks to read.
type Hooks struct {
	Registry   *hook.Registry       // nil if there are no hooks
	temp       string               // the temporary folder; "" if there are no command or HTTP hooks
	scratch    *diskfile.ScratchDir // temp
	EnvFile    string               // the file in which hooks write variables for commands; "" if no hook can do so
	transcript *hookTranscript

	sandboxes []*sandbox.Sandbox
	runners   []*hook.Commands
}

// Options configures [Open].
type Options struct {
	Env       *env.Env
	Settings  *settings.Settings
	Folders   []string // folders of the session
	NoSandbox bool
	Contained bool                          // the whole process is in a container
	Watch     func(hook.Runner) hook.Runner // wraps the runner of commands; may be nil
}

// Open creates the hooks that are active in the settings. The caller closes them after the agent.
func Open(need *Options) (h *Hooks, err error) {
	h, e := &Hooks{}, need.Env
	list := need.Settings.ActiveHooks()
	if len(list) == 0 {
		return h, nil
	}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	if h.scratch, err = diskfile.OpenScratch(e.Lookup("TMPDIR"), "holdfast-hooks-", os.RemoveAll); err != nil {
		return h, fmt.Errorf("temporary folder of the hooks: %w", err)
	}
	h.temp = settings.Resolve(h.scratch.Path)
	m, err := hooktranscript.New(h.temp, &hooktranscript.Options{Name: "transcript.jsonl", CWD: need.Settings.Cwd(), Clock: e.Clock})
	if err != nil {
		return h, fmt.Errorf("transcript for hooks: %w", err)
	}
	h.transcript = &hookTranscript{mirror: m}
	if err = h.createEnvFile(list); err != nil {
		return h, err
	}
	o := need.Settings.HookOptions()
	o.Clock = e.Clock
	if o.Runner, err = h.runner(need, list); err != nil {
		return h, err
	}
	if need.Watch != nil {
		o.Runner = need.Watch(o.Runner)
	}
	h.Registry = hook.New(&o)
	if err = h.Registry.Register(list...); err != nil {
		return h, outcome.Invalid("hooks: "+err.Error(), outcome.Hint(err))
	}
	return h, nil
}

// SetSnapshot sets the function that returns the transcript for hooks.
func (h *Hooks) SetSnapshot(snapshot func() agent.Snapshot) {
	if h.transcript != nil {
		h.transcript.snapshot = snapshot
	}
}

// Attach adds the hooks to an agent: first to its options, and then, by calling the returned
// function, to the agent.
func (h *Hooks) Attach(o *agent.Options) func(*agent.Agent) {
	o.Hooks.Registry = h.Registry
	if h.transcript == nil {
		return func(*agent.Agent) {}
	}
	o.Hooks.TranscriptPath = h.transcript.mirror.Path()
	o.TranscriptObservers = append(o.TranscriptObservers, h.transcript)
	return func(a *agent.Agent) { h.SetSnapshot(a.Snapshot) }
}

// createEnvFile creates the file in which hooks write variables, if any hook can set variables.
func (h *Hooks) createEnvFile(list []hook.Definition) error {
	if !slices.ContainsFunc(list, func(d hook.Definition) bool {
		return d.Event.SetsVariables() && d.Type() == "command"
	}) {
		return nil
	}
	h.EnvFile = filepath.Join(h.temp, "env.sh")
	f, err := os.OpenFile(h.EnvFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("file for variables of hooks: %w", err)
	}
	return f.Close()
}

// runner creates the runner of command and HTTP hooks.
func (h *Hooks) runner(need *Options, list []hook.Definition) (hook.Runner, error) {
	s := need.Settings
	o := hook.CommandsOptions{Project: s.Project, Environ: need.Env.Vars, EnvFile: h.EnvFile, NoSandbox: true}
	for _, v := range s.HookURLs {
		o.URLs = append(o.URLs, v.Value)
	}
	if s.HookEnvLimited {
		o.EnvVars = []string{}
		for _, v := range s.HookEnv {
			o.EnvVars = append(o.EnvVars, v.Value)
		}
	}
	free, err := h.commands(&o)
	if err != nil {
		return nil, err
	}
	r := &hookRunner{sandboxed: free, unsandboxed: free, temp: h.temp, inside: h.temp, transcript: h.transcript}
	if need.NoSandbox || !slices.ContainsFunc(list, needsSandbox) {
		return s.PinHooks(r), nil
	}
	o.NoSandbox = false
	for _, d := range list {
		box := &o.Read
		write := s.HookAccess(&d) == "write"
		if write {
			box = &o.Write
		}
		if !needsSandbox(d) || *box != nil {
			continue
		}
		if *box, err = h.sandboxFor(need, write); err != nil {
			return nil, err
		}
		r.inside = insideTemp(*box, h.temp)
	}
	if h.EnvFile != "" {
		o.EnvFile = filepath.Join(r.inside, filepath.Base(h.EnvFile))
	}
	r.sandboxed, err = h.commands(&o)
	return s.PinHooks(r), err
}

func (h *Hooks) commands(o *hook.CommandsOptions) (*hook.Commands, error) {
	c, err := hook.NewCommands(o)
	if err != nil {
		return nil, outcome.Invalid("hooks: "+err.Error(), outcome.Hint(err))
	}
	h.runners = append(h.runners, c)
	return c, nil
}

// needsSandbox reports whether a hook runs in a sandbox.
func needsSandbox(d hook.Definition) bool {
	return d.Type() == "command" && d.Sandbox != "off"
}

// sandboxFor opens a sandbox for hooks. It is like that of the agent's commands, except that if
// write is false, only the hooks' /tmp is writable.
func (h *Hooks) sandboxFor(need *Options, write bool) (*sandbox.Sandbox, error) {
	e := need.Env
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	checkers := need.Settings.Checkers()
	if !write {
		only, err := sandbox.NewChecker(&sandbox.Settings{AllowedWritePaths: []string{h.temp}}, &sandbox.Options{
			Home: e.UserHome(), Dir: h.temp, Origin: policy.Origin{Rule: `hooks with "sandbox": "read"`, Layer: layernames.Managed},
		})
		if err != nil {
			return nil, err
		}
		checkers = append(checkers, only)
	}
	box, err := sandbox.Open(checkers, &sandbox.OpenOptions{
		Folders: need.Folders, Home: e.UserHome(), State: []string{home}, Temp: h.temp, InContainer: need.Contained,
		Quarantine: string(quarantine.Open(home)), NamespacesFile: filepath.Join(home, "namespaces"),
	})
	if err != nil {
		return nil, env.NoSandboxError(err)
	}
	h.sandboxes = append(h.sandboxes, box)
	return box, nil
}

// insideTemp returns the path of the temporary folder inside the sandbox.
func insideTemp(box *sandbox.Sandbox, temp string) string {
	for _, pair := range box.Environ(nil) {
		if dir, ok := strings.CutPrefix(pair, "TMPDIR="); ok {
			return dir
		}
	}
	return temp
}

// Close stops the running hooks and removes their files.
func (h *Hooks) Close() {
	if h.Registry != nil {
		_ = h.Registry.Close()
	}
	for _, c := range h.runners {
		_ = c.Close() // this closes it a second time if the registry has closed it already
	}
	for _, box := range h.sandboxes {
		_ = box.Close()
	}
	if h.transcript != nil {
		_ = h.transcript.mirror.Close()
	}
	if h.scratch != nil {
		_ = h.scratch.Close()
	}
}

// hookRunner passes file paths to commands as they appear in the sandbox of the commands.
type hookRunner struct {
	sandboxed, unsandboxed *hook.Commands // one of them is nil if there is no sandbox
	temp, inside           string
	transcript             *hookTranscript
}

// Close ends detached commands.
func (r *hookRunner) Close() error {
	if r.sandboxed == r.unsandboxed {
		return r.unsandboxed.Close()
	}
	return errors.Join(r.sandboxed.Close(), r.unsandboxed.Close())
}

// Run implements [hook.Runner].
func (r *hookRunner) Run(ctx context.Context, d *hook.Definition, in *hook.Input) (hook.RunResult, error) {
	if err := r.transcript.ready(); err != nil {
		return hook.RunResult{}, err
	}
	if !needsSandbox(*d) || r.sandboxed == r.unsandboxed {
		return r.unsandboxed.Run(ctx, d, in)
	}
	if rest, ok := strings.CutPrefix(in.TranscriptPath, r.temp+"/"); ok {
		inside := *in
		inside.TranscriptPath = filepath.Join(r.inside, rest)
		in = &inside
	}
	return r.sandboxed.Run(ctx, d, in)
}
