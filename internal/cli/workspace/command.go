// Package workspace is `holdfast workspace`: manage persistent agent containers.
package workspace

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command returns `holdfast workspace`.
func Command(p *command.Program) *command.Command {
	return p.Group("workspace", "Create, list, change and delete workspaces: persistent agent containers.",
		p.Command(&createCmd{}, "create", "Create a workspace: a project, a home and a container for agents."),
		p.Command(&listCmd{}, "list", "List workspaces and the state of their containers.", "ls"),
		p.Command(&showCmd{}, "show", "Show a workspace's settings and the state of its container."),
		p.Command(&setCmd{}, "set", "Change the settings of a workspace."),
		p.Command(&startCmd{}, "start", "Create or start the container of a workspace."),
		p.Command(&stopCmd{}, "stop", "Stop the container of a workspace. The container is kept."),
		p.Command(&execCmd{}, "exec", "Run a command in the container of a workspace."),
		p.Command(&duCmd{}, "du", "Show the disk usage of workspaces."),
		newWorkspaceImageCmd(p),
		p.Command(&deleteCmd{}, "delete", "Delete a workspace with its container and its home. Sessions are kept.", "rm"),
	)
}

func newWorkspaceImageCmd(p *command.Program) *command.Command {
	return p.Group("image", "Build and list the images for workspace containers.",
		p.Command(&imageBuildCmd{}, "build", "Build an image. Nothing is pulled."),
		p.Command(&imageListCmd{}, "list", "List the images that were built.", "ls"),
	)
}

// slugArg is a workspace name on the command line.
type slugArg struct {
	Slug string
}

func (c *slugArg) Declare(b *command.Builder) {
	b.Arg(&c.Slug, "slug", "The workspace's name: a to z, 0 to 9 and dashes.")
}

// workspaceFlags are the settings of a workspace. If there is no flag for a setting, the setting
// keeps its value or gets its default.
type workspaceFlags struct {
	Project     *string
	Image       *string
	Agent       *string
	Command     []string
	Model       *string
	Memory      *string
	CPUs        *float64
	PIDs        *int64
	Disk        *string
	Network     *string
	AllowDomain []string
	Mount       []string
	Credential  []string
}

func (c *workspaceFlags) Declare(b *command.Builder) {
	b.Flag(&c.Project, "project", "", "FOLDER", "Project folder, mounted at /work. If empty, the workspace gets its own folder.")
	b.Flag(&c.Image, "image", "", "NAME", "The container image. Default: the image of holdfast workspace image build.")
	b.Flag(&c.Agent, "agent", "", "KIND", "The agent that works there: holdfast, claude, codex or acp.", "holdfast", "claude", "codex", "acp")
	b.Flag(&c.Command, "command", "", "WORD", "Command that starts the agent instead of its default program. Repeat the flag for each argument.")
	b.Flag(&c.Model, "model", "", "NAME", "Model name in the agent's own notation.")
	b.Flag(&c.Memory, "memory", "", "SIZE", "Memory limit of the container, such as 512m or 2g. Default: 2g.")
	b.Flag(&c.CPUs, "cpus", "", "N", "Number of processors. Default: 2.")
	b.Flag(&c.PIDs, "pids", "", "N", "Maximum number of processes and threads. Default: 512.")
	b.Flag(&c.Disk, "disk", "", "SIZE", "Disk limit of the home folder, or none. Checked before and during each turn. Default: 20g.")
	b.Flag(&c.Network, "network", "", "MODE", "Network access: none, or proxy (only allowed domains, through a proxy). Default: none.", "none", "proxy")
	b.Flag(&c.AllowDomain, "allow-domain", "", "DOMAIN", "Allow this domain, and set --network proxy. Repeatable.")
	b.Flag(&c.Mount, "mount", "", "HOST:AT[:ro]", "Mount an additional folder or file of this machine. Repeatable.")
	b.Flag(&c.Credential, "credential", "", "NAME", "Name of an environment variable to pass to the agent. Its value is not stored. Repeatable.")
}

// createCmd is `holdfast workspace create`.
type createCmd struct {
	slugArg
	workspaceFlags
	command.JSONFlag
}

func (c *createCmd) Declare(b *command.Builder) {
	b.Include(&c.slugArg)
	b.Include(&c.workspaceFlags)
	b.Include(&c.JSONFlag)
}

func (c *createCmd) Help() string {
	return `The container is created on first use. Without --project, the workspace gets its own folder, which
is deleted with the workspace. Your own project folder is never deleted.

  holdfast workspace create blog --project ~/src/blog --agent claude \
      --credential ANTHROPIC_API_KEY --allow-domain api.anthropic.com
  holdfast run --workspace blog "what is here?"`
}

// listCmd is `holdfast workspace list`.
type listCmd struct {
	Names bool
	command.JSONFlag
}

func (c *listCmd) Declare(b *command.Builder) {
	b.Flag(&c.Names, "names", "", "", "Print only the names, without asking the container engine.")
	b.Include(&c.JSONFlag)
}

// showCmd is `holdfast workspace show`.
type showCmd struct {
	slugArg
	command.StoreFlags
	command.JSONFlag
}

func (c *showCmd) Declare(b *command.Builder) {
	b.Include(&c.slugArg)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// setCmd is `holdfast workspace set`.
type setCmd struct {
	slugArg
	workspaceFlags
	Clear []string
	command.JSONFlag
}

func (c *setCmd) Declare(b *command.Builder) {
	b.Include(&c.slugArg)
	b.Include(&c.workspaceFlags)
	b.Flag(&c.Clear, "clear", "", "WHAT", "Clear a setting: image, command, model, domains, mounts or credentials. Repeatable.", "image", "command", "model", "domains", "mounts", "credentials")
	b.Include(&c.JSONFlag)
}

func (c *setCmd) Help() string {
	return `Settings without a flag keep their values; a list replaces the previous list. A running container
is recreated when no agent uses it.`
}

// startCmd is `holdfast workspace start`.
type startCmd struct {
	slugArg
	command.JSONFlag
}

func (c *startCmd) Declare(b *command.Builder) {
	b.Include(&c.slugArg)
	b.Include(&c.JSONFlag)
}

// stopCmd is `holdfast workspace stop`.
type stopCmd struct {
	Slug string
	All  bool
	command.JSONFlag
}

func (c *stopCmd) Declare(b *command.Builder) {
	b.Optional(&c.Slug, "slug", "The workspace's name.")
	b.Flag(&c.All, "all", "a", "", "Stop the containers of all workspaces.")
	b.Include(&c.JSONFlag)
}

func (c *stopCmd) Help() string {
	return `Stops everything that runs in the container, also an agent in the middle of a turn; its output so
far is saved. The container is kept and started again when needed.`
}

// execCmd is `holdfast workspace exec`.
type execCmd struct {
	slugArg
	Dir     string
	Env     []string
	NoTTY   bool
	Command []string
}

func (c *execCmd) Declare(b *command.Builder) {
	b.Include(&c.slugArg)
	b.Flag(&c.Dir, "dir", "", "FOLDER", "The working folder inside the container. Default: /work.")
	b.Flag(&c.Env, "env", "e", "NAME=VALUE", "An environment variable for the command. Repeatable.")
	b.Flag(&c.NoTTY, "no-tty", "T", "", "Do not give the command a terminal.")
	b.Verbatim = true
	b.Arg(&c.Command, "command", "The program and its arguments.")
}

func (c *execCmd) Help() string {
	return `Starts the container if it is not running. The command runs as agents do: as the same user, with
the same limits and rights. Its exit code is this command's exit code. If the image has no shell,
the command must be a program in the image.

  holdfast workspace exec blog -- git status
  holdfast workspace exec blog bash`
}

// duCmd is `holdfast workspace du`.
type duCmd struct {
	Slug string
	command.JSONFlag
}

func (c *duCmd) Declare(b *command.Builder) {
	b.Optional(&c.Slug, "slug", "A workspace's name. Default: all workspaces.")
	b.Include(&c.JSONFlag)
}

// imageBuildCmd is `holdfast workspace image build`.
type imageBuildCmd struct {
	Variant      string
	Agents       []string
	Base         string
	Tag          string
	Binary       string
	Certificates string
	Suite        string
	Mirror       string
	NoCache      bool
	command.JSONFlag
}

func (c *imageBuildCmd) Declare(b *command.Builder) {
	c.Variant = "scratch"
	b.Flag(&c.Variant, "variant", "", "NAME", "The image variant: scratch (only this program, no shell) or debian. Default: scratch.", "scratch", "debian")
	b.Words(&c.Agents, "with", "", "AGENT", "For debian: vendor agents to install with npm: claude, codex, each with @VERSION or in the tested version.")
	b.Flag(&c.Base, "base", "", "IMAGE", "For debian: the image of the container engine to build on. Default: build one with debootstrap, which needs root.")
	b.Flag(&c.Tag, "tag", "", "NAME", "The image's name. Default: holdfast/workspace:VARIANT and holdfast/workspace:latest, which is the default of workspaces.")
	b.Flag(&c.Binary, "binary", "", "FILE", "A static holdfast binary for Linux. Default: this program.")
	b.Flag(&c.Certificates, "certificates", "", "FILE", "Certificate authorities to trust inside, as PEM.")
	b.Flag(&c.Suite, "suite", "", "NAME", "The Debian release for debootstrap. Default: bookworm.")
	b.Flag(&c.Mirror, "mirror", "", "URL", "The package mirror for debootstrap. Default: the one that apt uses.")
	b.Flag(&c.NoCache, "fresh", "", "", "Build without using existing images or caches.")
	b.Include(&c.JSONFlag)
}

func (c *imageBuildCmd) Help() string {
	return `An image that was built from the same input is reused.

  holdfast workspace image build                                 this program, no shell: 2 s
  holdfast workspace image build --variant debian --with claude  a Debian with Claude Code
  holdfast workspace image build --variant debian --base debian:12`
}

// imageListCmd is `holdfast workspace image list`.
type imageListCmd struct{ command.JSONFlag }

func (c *imageListCmd) Declare(b *command.Builder) {
	b.Include(&c.JSONFlag)
}

// deleteCmd is `holdfast workspace delete`.
type deleteCmd struct {
	slugArg
	Yes      bool
	NoEngine bool
	command.StoreFlags
	command.JSONFlag
}

func (c *deleteCmd) Declare(b *command.Builder) {
	b.Include(&c.slugArg)
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask for confirmation.")
	b.Flag(&c.NoEngine, "no-engine", "", "", "Do not remove the container. Use this if the container engine no longer exists.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *deleteCmd) Help() string {
	return `Deletes the container, the agents' home folder and a project folder that belongs to the workspace.
Keeps your own project folder and all sessions. Links are removed and never followed. If deletion is
interrupted, run the command again.`
}
