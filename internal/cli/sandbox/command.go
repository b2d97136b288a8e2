// Package sandbox is `holdfast sandbox`: check and explain commands, and run them confined.
package sandbox

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command makes `holdfast sandbox`.
func Command(p *command.Program) *command.Command {
	return p.Group("sandbox", "Run commands in the sandbox; check paths and commands against its settings.",
		p.Command(&allowCmd{}, "allow", "Write into your settings what commands in the sandbox may write and read, and which hosts they reach."),
		p.Command(&cachesCmd{}, "caches", "List, prune and remove the caches of compilers and package managers."),
		p.Command(&checkCmd{}, "check", "Say whether the sandbox settings let a path or a command pass; exit code 3 when not."),
		p.Command(&execCmd{}, "exec", "Run a command in the kernel sandbox; its exit status, streams and signals stay its own."),
		p.Command(&explainCmd{}, "explain", "Show what a command line would run and touch, as the checker reads it."),
		p.Command(&quarantineCmd{}, "quarantine", "List, restore and remove what commands in the sandbox made under protected names."),
	)
}

// allowCmd is `holdfast sandbox allow`.
type allowCmd struct {
	Read, Write, Host []string
	Registries        bool
	flags.SettingsLayerFlags
	command.JSONFlag
}

func (c *allowCmd) Declare(b *command.Builder) {
	b.Flag(&c.Write, "write", "", "PATH", "A folder or a file that may be written besides the project's; it must be there. May be repeated.")
	b.Flag(&c.Read, "read", "", "PATH", "A secret of yours that commands may read, such as ~/.npmrc with its tokens. May be repeated.")
	b.Flag(&c.Host, "host", "", "HOST", "A host that may be reached: example.com, *.example.com, a registry such as @npm, or an address with its port. May be repeated.")
	b.Flag(&c.Registries, "registries", "", "", "The private package registries that your own .npmrc, pip.conf, go env, settings.xml and Cargo's config.toml name.")
	b.Include(&c.SettingsLayerFlags)
	b.Include(&c.JSONFlag)
}

// Help says more than one line.
func (c *allowCmd) Help() string {
	return `What the sandbox refused is told with the command that allows it. It counts from the next
run on. The file and the line are printed; everything else in the file stays as it is.

  holdfast sandbox allow --write ~/.cache/foo --host example.com
  holdfast sandbox allow --user --host @npm
  holdfast sandbox allow --user --registries
  holdfast sandbox allow --read ~/.npmrc

Commands read everything but secrets, which --read opens one by one: they can then use a token in
the file, and send it to any host that they reach.

--registries writes the hosts that are named now. Those that only files of the project name are
told, and not written: anybody may have written them.`
}

// cachesCmd is `holdfast sandbox caches`.
type cachesCmd struct {
	Prune  bool
	Remove string
	command.JSONFlag
}

func (c *cachesCmd) Declare(b *command.Builder) {
	b.Flag(&c.Prune, "prune", "", "", "Remove caches that were not used for 30 days, and the least recently used ones over 20 GiB.")
	b.Flag(&c.Remove, "remove", "", "NAME", "Remove the caches of this project, by its name in the list.")
	b.Include(&c.JSONFlag)
}

// Help says more than one line.
func (c *cachesCmd) Help() string {
	return `Compilers and package managers that run in the sandbox write caches below $HOLDFAST_HOME,
one folder for each project. What a command puts there reaches neither other projects nor
your own caches. Runs prune them once a day.

  holdfast sandbox caches
  holdfast sandbox caches --remove app-1f0c2a9b6d3e4f58`
}

// quarantineCmd is `holdfast sandbox quarantine`.
type quarantineCmd struct {
	Restore, Remove string
	command.JSONFlag
}

func (c *quarantineCmd) Declare(b *command.Builder) {
	b.Flag(&c.Restore, "restore", "", "ID", "Move this item back to where it was made.")
	b.Flag(&c.Remove, "remove", "", "ID", "Remove this item for good.")
	b.Include(&c.JSONFlag)
}

// Help says more than one line.
func (c *quarantineCmd) Help() string {
	return `Some names decide what other programs do: .claude, .vscode, .envrc, the hooks of git. When a
command makes one that was not there, it is moved to $HOLDFAST_HOME/quarantine at once, and the
result of the command says so. Look at it before you put it back.

  holdfast sandbox quarantine
  holdfast sandbox quarantine --restore 20260102-150405-1`
}

// checkCmd is `holdfast sandbox check`.
type checkCmd struct {
	Settings string
	CWD      string
	Read     string
	Write    string
	Batch    string
	Command  []string
	command.JSONFlag
}

func (c *checkCmd) Declare(b *command.Builder) {
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "Judge by these settings alone: a settings file, or its sandbox block. Default: those of the folder and the user.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Where the command would start, and what paths are relative to; it need not exist. Default the current one.")
	b.Flag(&c.Read, "read", "", "PATH", "May this path be read?")
	b.Flag(&c.Write, "write", "", "PATH", "May this path be written?")
	b.Flag(&c.Batch, "batch", "", "FILE", "Answer a line of JSON for each line of JSON: {id, settings, cwd, command} or {id, settings, cwd, path, op}. - is standard input.")
	b.Optional(&c.Command, "command", "May this run? One argument is a line as a shell gets it; several are the words of one command. Put -- before it.")
	b.Include(&c.JSONFlag)
}

// execCmd is `holdfast sandbox exec`. Package confine reads its flags and runs it before this
// package has started; here are its help and its errors.
type execCmd struct {
	text  string
	words []string
	is    bool
}

func (c *execCmd) Declare(b *command.Builder) {
	b.Flag(&c.text, "settings", "", "FILE|JSON", "Hold to these settings alone: a settings file, or its sandbox block. Default: those of the folder and the user.")
	b.Flag(&c.words, "write", "", "PATH", "Only this tree may be written, /tmp and caches; may be repeated. Default: the current folder.")
	b.Flag(&c.words, "read", "", "PATH", "Only this tree may be read, and what programs need to start; may be repeated. Default: everything but secrets.")
	b.Flag(&c.words, "deny", "", "PATH", "This tree may not be read or written; may be repeated.")
	b.Flag(&c.words, "allow-domain", "", "HOST", "This host may be reached, by the proxy: api.example.com, *.example.com, @npm; may be repeated. Default: none.")
	b.Flag(&c.words, "env", "", "NAME[=VALUE]", "The command gets this variable, too; may be repeated.")
	b.Flag(&c.is, "keep-env", "", "", "The command gets the whole environment, with keys and tokens.")
	b.Flag(&c.text, "cwd", "", "FOLDER", "Where the command starts; default the current folder.")
	b.Flag(&c.text, "json-report", "", "FILE|FD", "Write how it ended and what was refused there, as JSON: a file, or the number of an open descriptor.")
	b.Flag(&c.is, "quiet", "", "", "Do not report what was refused.")
	b.Verbatim, b.Refused = true, execFailure
	b.Arg(&c.words, "command", "The program and its arguments. Put -- before it.")
}

// explainCmd is `holdfast sandbox explain`.
type explainCmd struct {
	CWD     string
	Command []string
	command.JSONFlag
}

func (c *explainCmd) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Where the command would start; it need not exist. Default the current one.")
	b.Arg(&c.Command, "command", "One argument is a line as a shell gets it; several are the words of one command. Put -- before it.")
	b.Include(&c.JSONFlag)
}
