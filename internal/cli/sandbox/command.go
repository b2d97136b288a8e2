// Package sandbox is `holdfast sandbox`: it checks and explains commands, and runs them in the
// sandbox.
package sandbox

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command returns `holdfast sandbox`.
func Command(p *command.Program) *command.Command {
	return p.Group("sandbox", "Run commands in the sandbox; check paths and commands against its settings.",
		p.Command(&allowCmd{}, "allow", "Add sandbox permissions to your settings: writable paths, readable secrets, reachable hosts."),
		p.Command(&cachesCmd{}, "caches", "List, prune and remove the caches of compilers and package managers."),
		p.Command(&checkCmd{}, "check", "Check whether the sandbox settings allow a path or a command. The exit code is 3 if not."),
		p.Command(&execCmd{}, "exec", "Run a command in the kernel sandbox. Exit status, streams and signals are passed through."),
		p.Command(&explainCmd{}, "explain", "Show which commands a command line would run and which paths it would touch."),
		p.Command(&quarantineCmd{}, "quarantine", "List, restore or remove files that sandboxed commands created under protected names."),
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
	b.Flag(&c.Write, "write", "", "PATH", "A folder or file that commands may write, in addition to the project. It must exist. Repeatable.")
	b.Flag(&c.Read, "read", "", "PATH", "A secret file that commands may read, such as ~/.npmrc with its tokens. Repeatable.")
	b.Flag(&c.Host, "host", "", "HOST", "A host that commands may connect to: example.com, *.example.com, a registry such as @npm, or an address with its port. Repeatable.")
	b.Flag(&c.Registries, "registries", "", "", "The private package registries in your own .npmrc, .yarnrc.yml, pip.conf, uv.toml, go env, settings.xml and Cargo config.toml.")
	b.Include(&c.SettingsLayerFlags)
	b.Include(&c.JSONFlag)
}

// Help returns the details of the command.
func (c *allowCmd) Help() string {
	return `When the sandbox refuses something, the message names the command that allows it. The change
applies from the next run. Prints the file and the line; the rest of the file does not change.

  holdfast sandbox allow --write ~/.cache/foo --host example.com
  holdfast sandbox allow --user --host @npm
  holdfast sandbox allow --user --registries
  holdfast sandbox allow --read ~/.npmrc

--host adds the host to the list of allowed hosts in the block "network". As soon as settings have
this block, WebFetch and MCP servers with a URL also reach only the hosts in the list.

Commands can read everything except secrets. --read opens one secret file: commands can then use a
token in it, and send it to any host that they can reach.

--registries adds the hosts that are configured now. Registries named only in project files are
printed but not added, because anyone can edit those files.`
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

// Help returns the details of the command.
func (c *cachesCmd) Help() string {
	return `Compilers and package managers in the sandbox write caches below $HOLDFAST_HOME, in one folder per
project. Other projects and your own caches never see these files. Runs prune the caches once a
day.

  holdfast sandbox caches
  holdfast sandbox caches --remove app-1f0c2a9b6d3e4f58`
}

// quarantineCmd is `holdfast sandbox quarantine`.
type quarantineCmd struct {
	Restore, Remove string
	command.JSONFlag
}

func (c *quarantineCmd) Declare(b *command.Builder) {
	b.Flag(&c.Restore, "restore", "", "ID", "Move this item back to the path where it was created.")
	b.Flag(&c.Remove, "remove", "", "ID", "Remove this item permanently.")
	b.Include(&c.JSONFlag)
}

// Help returns the details of the command.
func (c *quarantineCmd) Help() string {
	return `Files with protected names change what other programs do: .claude, .vscode, .envrc, git hooks. When
a sandboxed command creates such a file, it is moved to $HOLDFAST_HOME/quarantine at once, and the
command's result says so. Look at the file before you restore it.

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
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "Use only these sandbox settings: a settings file or its sandbox block. Default: the project's and your settings.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The command's working folder, and the base of relative paths. It need not exist. Default: the current folder.")
	b.Flag(&c.Read, "read", "", "PATH", "Check whether this path can be read.")
	b.Flag(&c.Write, "write", "", "PATH", "Check whether this path can be written.")
	b.Flag(&c.Batch, "batch", "", "FILE", "Answer each line of JSON with a line of JSON: {id, settings, cwd, command} or {id, settings, cwd, path, op}. Use - for standard input.")
	b.Optional(&c.Command, "command", "The command to check. One argument is parsed as a shell command line. Several arguments are the words of one command. Put -- before it.")
	b.Include(&c.JSONFlag)
}

// execCmd is `holdfast sandbox exec`. Package confine reads the flags and runs the command before
// this package is initialized; this package prints the help and the errors.
type execCmd struct {
	text  string
	words []string
	onOff bool
}

func (c *execCmd) Declare(b *command.Builder) {
	b.Flag(&c.text, "settings", "", "FILE|JSON", "Use only these sandbox settings: a settings file or its sandbox block. Default: the project's and your settings.")
	b.Flag(&c.words, "write", "", "PATH", "Commands may write only this folder, /tmp and caches. Repeatable. Default: the current folder.")
	b.Flag(&c.words, "read", "", "PATH", "Commands may read only this folder and the files that programs need to start. Repeatable. Default: everything except secrets.")
	b.Flag(&c.words, "deny", "", "PATH", "This folder may not be read or written. Repeatable.")
	b.Flag(&c.words, "allow-domain", "", "HOST", "This host may be reached through the proxy: api.example.com, *.example.com, @npm. Repeatable. Default: none.")
	b.Flag(&c.words, "env", "", "NAME[=VALUE]", "Pass this environment variable to the command. Repeatable.")
	b.Flag(&c.onOff, "keep-env", "", "", "Pass the whole environment to the command, including keys and tokens.")
	b.Flag(&c.text, "cwd", "", "FOLDER", "The command's working folder. Default: the current folder.")
	b.Flag(&c.text, "json-report", "", "FILE|FD", "Write a JSON report of the exit status and refusals to this file or open file descriptor.")
	b.Flag(&c.onOff, "quiet", "", "", "Do not report refusals.")
	b.Verbatim, b.ReplaceError = true, execFailure
	b.Arg(&c.words, "command", "The program and its arguments. Put -- before it.")
}

// explainCmd is `holdfast sandbox explain`.
type explainCmd struct {
	CWD     string
	Command []string
	command.JSONFlag
}

func (c *explainCmd) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The command's working folder. It need not exist. Default: the current folder.")
	b.Arg(&c.Command, "command", "The command. One argument is parsed as a shell command line. Several arguments are the words of one command. Put -- before it.")
	b.Include(&c.JSONFlag)
}
