// Package shell provides the Bash tool, which runs commands, and the Exec tool, which runs a
// program without a shell.
//
//	command ─► /bin/bash -c, own session and process group, stdin empty, clean environment
//	             │ stdout and stderr: one pipe ─► head + tail for the model, all of it in a file when long
//	             │ its last directory ─► where the next command starts
//	             ├ in the sandbox, where there is one: sandbox.Cmd ─► refusals are reported
//	             └ timeout or cancel ─► SIGTERM to the group, then SIGKILL
//
//	sh, err := shell.New(folders, &shell.Options{OutputDir: dir})
//	registry, err := tool.NewRegistry(sh.Tools()...)
//
// A nonzero exit code is not a tool error: the text ends with "Exit code: N", and Result.ExitCode
// contains the code. Only a timeout, a signal, and a command that could not start are errors.
//
// When the shell has ended, the remaining processes in its process group are killed, and the result
// reports that. A command that creates its own session is not killed. With [Options].Sandbox, no
// process outlives the command, and the sandbox's settings restrict its access. Only the user can
// allow a command to run outside of the sandbox.
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

// Options configure the tool. The zero value of a field is its default.
type Options struct {
	// Env contains variables, as "NAME=value", that are added to the environment of commands. From
	// Environ, commands get only PATH, HOME, USER, LOGNAME, SHELL, LANG, LANGUAGE, LC_*, TERM,
	// TMPDIR and TZ, so that keys and tokens are not passed on.
	Env []string

	// Environ is the environment of the user; nil means the environment of this process.
	Environ []string

	// OutputDir is the folder for the complete text of long outputs. It has one file of mode 0600 for each
	// command, with up to MaxFile bytes. If it is empty, output that is not shown is lost.
	OutputDir string
	MaxFile   int64 // bytes; 64 MiB
	// StoreOutput determines how an output is stored: its name, masked and sealed. Nil stores it
	// unchanged. If the function fails, nothing is stored.
	StoreOutput func(call *tool.Call, text []byte) (*StoredOutput, error)

	MaxOutput  int           // bytes shown to the model; 30,000
	Timeout    time.Duration // of a call without one; 2 minutes
	MaxTimeout time.Duration // maximum for a call; 10 minutes
	Grace      time.Duration // between SIGTERM and SIGKILL; 2 seconds

	// Background allows calls to set run_in_background: the agent supports background tasks.
	Background bool

	// Override lets a call request one exception from a denial that applies to the session; see
	// [override.AllowOverride].
	Override bool

	// Exec adds the tool Exec, which runs one program file without a shell (agentkit's fs.exec).
	Exec bool

	// Sandbox confines commands; if nil, they are not confined. To ask about hosts, open the
	// sandbox with [AskHost]. The caller closes it.
	Sandbox *sandbox.Sandbox

	// SandboxGrants returns what the user has allowed in the sandbox for the session. It is called before
	// each command. Nil: nothing.
	SandboxGrants func() *sandbox.Settings

	// EnvFile is a script that runs at the start of every command, to set the variables that it
	// exports (CLAUDE_ENV_FILE of hooks). It is read again for each command, by this process and
	// not by the command. The script controls all later commands, so commands must not be able to
	// write it. If EnvFile is empty or the file is missing, no variables are set. If the file is
	// larger than 64 KiB, no command starts.
	EnvFile string

	// Progress receives output as it arrives, from one goroutine per call. It must not keep the slice and
	// should not block, because the command waits for it.
	Progress func(callID string, chunk []byte)
}

// Shell is the Bash tool of one session. It is safe for concurrent use.
type Shell struct {
	folders *workdir.Folders
	opts    Options
	program string
	env     []string // of unconfined commands
	inside  []string // of confined commands
	tools   []tool.Tool
}

// New returns the tool. Commands start in the folders' current directory, and a cd inside the folders
// changes it. The caller closes the folders.
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
