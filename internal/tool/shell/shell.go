// Package shell has the tool that runs commands: Bash, and one that runs a program without
// a shell: Exec.
//
//	command ─► /bin/bash -c, own session and process group, stdin empty, clean environment
//	             │ stdout and stderr: one pipe ─► head + tail for the model, all of it in a file when long
//	             │ leaves the directory it ended in ─► where the next command starts
//	             ├ in the sandbox, where there is one: sandbox.Cmd ─► what was refused is told
//	             └ timeout or cancel ─► SIGTERM to the group, then SIGKILL
//
//	sh, err := shell.New(folders, &shell.Options{OutputDir: dir})
//	registry, err := tool.NewRegistry(sh.Tools()...)
//
// A command that exits with another code than 0 is no tool error: the text ends
// in "Exit code: N" and Result.ExitCode says it. Only a timeout, a signal and a
// command that could not start are errors.
//
// When the shell is done, what it left behind in its process group is killed and
// the model is told; a command that makes its own session escapes that. With
// [Options].Sandbox nothing outlives the command, and what it may touch is held to
// the sandbox's settings. Only a person lets a command run outside of it.
package shell

import (
	"os"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/environ"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/tool"
)

// Options adjust the tool. The zero value of each field means its default.
type Options struct {
	// Env is added to the environment of commands, as "NAME=value". Of Environ they
	// get only PATH, HOME, USER, LOGNAME, SHELL, LANG, LANGUAGE, LC_*, TERM, TMPDIR and
	// TZ, so keys and tokens stay here.
	Env []string

	// Environ is the environment of whom commands work for; nil is our own.
	Environ []string

	// OutputDir is where the whole of a long output is kept, one file of mode 0600
	// per command, up to MaxFile bytes. Empty: what is not shown is dropped.
	OutputDir string
	MaxFile   int64 // bytes; 64 MiB
	// StoreOutput says how an output of a call is kept: under which name, masked, sealed. Nil: as it
	// is. When it fails, nothing is kept.
	StoreOutput func(call *tool.Call, text []byte) (*StoredOutput, error)

	MaxOutput  int           // bytes shown to the model; 30,000
	Timeout    time.Duration // of a call that names none; 2 minutes
	MaxTimeout time.Duration // no call may take more; 10 minutes
	Grace      time.Duration // between SIGTERM and SIGKILL; 2 seconds

	// Background lets calls say run_in_background: the agent has a background.
	Background bool

	// Override lets calls ask for one exception from a deny of the session; see
	// [override.Wrap].
	Override bool

	// Exec adds the tool Exec, which runs one program by its file and without a shell
	// (seed 002's fs.exec).
	Exec bool

	// Sandbox holds commands to its settings; nil: nothing does. One that should ask
	// about hosts is opened with [AskHost]. It stays the caller's to close.
	Sandbox *sandbox.Sandbox

	// SandboxGrants is what a person has opened in the sandbox for the session. It is called before each
	// command. Nil: nothing.
	SandboxGrants func() *sandbox.Settings

	// EnvFile is a script that every command begins with, for the variables that it
	// exports (CLAUDE_ENV_FILE of hooks). It is read anew for each command, here and
	// not by the command; who may write it decides what commands do, so it lies where
	// they cannot. Empty, or not there: none. Longer than 64 KiB: no command starts.
	EnvFile string

	// Progress is given output as it comes, from one goroutine per call. It must
	// not keep the slice and should not block: the command waits for it.
	Progress func(callID string, chunk []byte)
}

// Shell is the Bash tool of one session. It is safe for concurrent use.
type Shell struct {
	folders *workdir.Folders
	opts    Options
	program string
	env     []string // of commands that nothing holds
	inside  []string // of confined ones
	tools   []tool.Tool
}

// New makes the tool. Commands start in the folders' current directory, and a cd
// that stays inside the folders changes it. The folders stay the caller's to
// close.
func New(folders *workdir.Folders, opts *Options) (*Shell, error) {
	s := &Shell{folders: folders, program: "/bin/sh"}
	if opts != nil {
		s.opts = *opts
	}
	if _, err := os.Stat("/bin/bash"); err == nil {
		s.program = "/bin/bash"
	}
	o := &s.opts
	if o.MaxFile <= 0 {
		o.MaxFile = 64 << 20
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = 30_000
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 10 * time.Minute
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.Grace <= 0 {
		o.Grace = 2 * time.Second
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	s.env = slices.Concat(environ.ForSandbox(o.Environ), o.Env)
	if o.Sandbox != nil {
		s.inside = slices.Concat(o.Sandbox.Environ(o.Environ), o.Env)
	}
	bash, err := s.newBash()
	if s.tools = append(s.tools, bash); err != nil || !o.Exec {
		return s, err
	}
	exec, err := s.newExec()
	s.tools = append(s.tools, exec)
	return s, err
}

// Tools returns Bash and, with [Options].Exec, Exec.
func (s *Shell) Tools() []tool.Tool { return slices.Clone(s.tools) }
