// Package workspace is `holdfast workspace`: manage persistent agent containers.
package workspace

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command makes `holdfast workspace`.
func Command(p *command.Program) *command.Command {
	return p.Group("workspace", "Create, list, change and delete workspaces: persistent agent containers.",
		p.Command(&createCmd{}, "create", "Make a workspace: a project, a home and a container for agents."),
		p.Command(&listCmd{}, "list", "List the workspaces and how their containers are.", "ls"),
		p.Command(&showCmd{}, "show", "Print the settings of a workspace, and how its container is."),
		p.Command(&setCmd{}, "set", "Change the settings of a workspace."),
		p.Command(&startCmd{}, "start", "Make or start the container of a workspace."),
		p.Command(&stopCmd{}, "stop", "Stop the container of a workspace; it is kept."),
		p.Command(&execCmd{}, "exec", "Run a command in the container of a workspace."),
		p.Command(&duCmd{}, "du", "Say how much of the disk workspaces use."),
		newWorkspaceImageCmd(p),
		p.Command(&deleteCmd{}, "delete", "Delete a workspace with its container and its home; sessions stay.", "rm"),
	)
}

func newWorkspaceImageCmd(p *command.Program) *command.Command {
	return p.Group("image", "Build and list the images that containers are made of.",
		p.Command(&imageBuildCmd{}, "build", "Build an image; nothing is pulled."),
		p.Command(&imageListCmd{}, "list", "List the images that were built.", "ls"),
	)
}

// slugArg names one workspace on the command line.
type slugArg struct {
	Slug string
}

func (c *slugArg) Declare(b *command.Builder) {
	b.Arg(&c.Slug, "slug", "The workspace's name: a to z, 0 to 9 and dashes.")
}

// workspaceFlags are what a person decides about a workspace. What is not given stays
// as it is, or is the default.
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
	b.Flag(&c.Project, "project", "", "FOLDER", "The folder that is /work inside; an empty text makes one that belongs to the workspace.")
	b.Flag(&c.Image, "image", "", "NAME", "What the container is made of; default what workspace image build makes.")
	b.Flag(&c.Agent, "agent", "", "KIND", "Who works there: holdfast, claude, codex or acp.", "holdfast", "claude", "codex", "acp")
	b.Flag(&c.Command, "command", "", "WORD", "What starts the agent instead of its own program: a program and its arguments, one flag for each.")
	b.Flag(&c.Model, "model", "", "NAME", "The agent's name of its model.")
	b.Flag(&c.Memory, "memory", "", "SIZE", "What all of the container may use: 512m, 2g; default 2g.")
	b.Flag(&c.CPUs, "cpus", "", "N", "Processors; default 2.")
	b.Flag(&c.PIDs, "pids", "", "N", "Processes and threads; default 512.")
	b.Flag(&c.Disk, "disk", "", "SIZE", "What the home may hold, or none; default 20g. Looked at before each turn.")
	b.Flag(&c.Network, "network", "", "MODE", "none, or proxy: the domains that are allowed, through a proxy. Default none.", "none", "proxy")
	b.Flag(&c.AllowDomain, "allow-domain", "", "DOMAIN", "Let this domain through, and set --network proxy; may be repeated.")
	b.Flag(&c.Mount, "mount", "", "HOST:AT[:ro]", "Another folder or file of this machine; may be repeated.")
	b.Flag(&c.Credential, "credential", "", "NAME", "A variable of your environment whose value an agent gets when it starts, and nobody keeps; may be repeated.")
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
	return `The container is made when it is needed first. Without --project the workspace gets a folder
of its own, which is deleted with it; another folder stays.

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
	b.Flag(&c.Names, "names", "", "", "Print the names alone; no engine is asked.")
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
	b.Flag(&c.Clear, "clear", "", "WHAT", "Empty a setting: image, command, model, domains, mounts or credentials; may be repeated.", "image", "command", "model", "domains", "mounts", "credentials")
	b.Include(&c.JSONFlag)
}

func (c *setCmd) Help() string {
	return `What is not given stays; a list that is given replaces the one before. A container that runs
is made anew when nobody works in it any more.`
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
	b.Flag(&c.All, "all", "a", "", "The containers of all workspaces.")
	b.Include(&c.JSONFlag)
}

func (c *stopCmd) Help() string {
	return `What runs in the container ends, also an agent in the middle of a turn; what it has said is saved.
The container is kept, and started again when it is needed.`
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
	b.Flag(&c.Dir, "dir", "", "FOLDER", "The folder inside to run in; default /work.")
	b.Flag(&c.Env, "env", "e", "NAME=VALUE", "A variable for the command; may be repeated.")
	b.Flag(&c.NoTTY, "no-tty", "T", "", "Give the command no terminal, also when there is one here.")
	b.Verbatim = true
	b.Arg(&c.Command, "command", "What to run, and its arguments.")
}

func (c *execCmd) Help() string {
	return `The container is started when it does not run. The command runs as agents do: as the same user,
with the same limits and rights. Its exit code is this command's. Without a shell in the image
there is none here either.

  holdfast workspace exec blog -- git status
  holdfast workspace exec blog bash`
}

// duCmd is `holdfast workspace du`.
type duCmd struct {
	Slug string
	command.JSONFlag
}

func (c *duCmd) Declare(b *command.Builder) {
	b.Optional(&c.Slug, "slug", "One workspace; default all.")
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
	b.Flag(&c.Variant, "variant", "", "NAME", "scratch: this program alone, without a shell; or debian. Default scratch.", "scratch", "debian")
	b.Words(&c.Agents, "with", "", "AGENT", "For debian: claude, codex, each with @VERSION or in the version that was tested; npm gets them.")
	b.Flag(&c.Base, "base", "", "IMAGE", "For debian: an image that the engine has; default what debootstrap makes, which needs root.")
	b.Flag(&c.Tag, "tag", "", "NAME", "The image's name; default holdfast/workspace:VARIANT, and the image of workspaces that name none.")
	b.Flag(&c.Binary, "binary", "", "FILE", "A static holdfast for Linux; default this program.")
	b.Flag(&c.Certificates, "certificates", "", "FILE", "Certificate authorities to trust inside, as PEM.")
	b.Flag(&c.Suite, "suite", "", "NAME", "Debian's, for debootstrap; default bookworm.")
	b.Flag(&c.Mirror, "mirror", "", "URL", "Where debootstrap gets packages; default what apt uses.")
	b.Flag(&c.NoCache, "fresh", "", "", "Build anew what is there.")
	b.Include(&c.JSONFlag)
}

func (c *imageBuildCmd) Help() string {
	return `An image that was built of the same input is taken as it is.

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
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
	b.Flag(&c.NoEngine, "no-engine", "", "", "Leave out the container: for when its engine is gone for good.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *deleteCmd) Help() string {
	return `What goes: the container, the home of its agents with what they remember, and a project folder
that belongs to the workspace. What stays: a project of yours, and all sessions. A link is removed
and never followed. What ends early can be deleted again.`
}
