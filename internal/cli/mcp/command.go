// Package mcp is `holdfast mcp`: manage the MCP servers that agents use, or serve as one.
package mcp

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command makes `holdfast mcp`.
func Command(p *command.Program) *command.Command {
	cmd := p.Command(&mcpCmd{}, "mcp", "Manage MCP servers, or serve as one.")
	command.AddCommands(cmd,
		p.Command(&serveCmd{}, "serve", "Offer guarded tools to an MCP client, over standard input and output or HTTP."),
		p.Command(&listCmd{}, "list", "List the MCP servers that runs use, and which of them nobody has approved.", "ls"),
		p.Command(&getCmd{}, "get", "Show one server, and with --check its tools."),
		p.Command(&addCmd{}, "add", "Write a server down: a program, or an address."),
		p.Command(&addJSONCmd{}, "add-json", "Write a server down, as its definition in JSON."),
		p.Command(&removeCmd{}, "remove", "Take a server out again.", "rm"),
		p.Command(&approveCmd{}, "approve", "Let servers that a folder brings along be started, each as it is now."),
		p.Command(&rejectCmd{}, "reject", "Say no to servers that a folder brings along; runs do not ask about them any more."),
		p.Command(&revokeCmd{}, "revoke", "Take back what was decided about servers."),
		p.Command(&fetchCmd{}, "fetch", "Fetch a server that npx, uvx or another launcher starts, so that it starts without a network."),
		p.Command(&loginCmd{}, "login", "Log in to a server by OAuth."),
		p.Command(&logoutCmd{}, "logout", "Forget the login to a server."),
	)
	return cmd
}

// mcpCmd is `holdfast mcp` alone, which does what `holdfast mcp serve` does.
type mcpCmd struct{ serveCmd }

func (c *mcpCmd) Declare(b *command.Builder) {
	c.serveCmd.Declare(b)
	b.HideAll()
}

func (c *mcpCmd) Help() string { return "Without a command it does what mcp serve does." }

// serveCmd is `holdfast mcp serve`.
type serveCmd struct {
	CWD         string
	AddDir      []string
	AllProjects bool
	flags.PermissionFlags

	HTTP        string
	TLSCert     string
	TLSKey      string
	AllowHost   []string
	AllowOrigin []string
	command.StoreFlags
}

func (c *serveCmd) Declare(b *command.Builder) {
	b.Heading = "Folders"
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Work in this folder; default the current one.")
	b.Flag(&c.AddDir, "add-dir", "", "FOLDER", "Another folder that the tools may touch; may be repeated.")
	b.Flag(&c.AllProjects, "all-projects", "", "", "Let the session tools find sessions of all projects, not only this one's.")
	b.Heading = ""
	b.Include(&c.PermissionFlags)
	b.Heading = "Reach"
	b.Flag(&c.HTTP, "http", "", "HOST:PORT", "Serve streamable HTTP at /mcp, to clients with a token (holdfast daemon token create --scope run NAME). Beyond this machine it needs TLS.")
	b.Path(&c.TLSCert, "tls-cert", "", "FILE", "Speak TLS with this certificate and its chain (PEM).")
	b.Path(&c.TLSKey, "tls-key", "", "FILE", "The certificate's key (PEM).")
	b.Flag(&c.AllowHost, "allow-host", "", "HOST[:PORT]", "A name under which clients call the server, beside its address.")
	b.Flag(&c.AllowOrigin, "allow-origin", "", "ORIGIN", "Another origin whose pages may reach the server.")
	b.Heading = ""
	b.Include(&c.StoreFlags)
}

func (c *serveCmd) Help() string {
	return `Offers Read, Write, Edit, Bash, Glob and Grep, and SessionList, SessionSearch and SessionShow
to read what earlier sessions said. Each call is judged, confined and recorded as a
model's: settings, hooks and sandbox are those of holdfast run. What would be asked is
denied, unless settings or --on-ask wait let it wait for holdfast approvals or the
console; with --http the person at this terminal is asked. No client can approve.

  claude mcp add holdfast -- holdfast mcp serve --cwd ~/project
  holdfast mcp serve --http 127.0.0.1:7424`
}

// agentFlags are those of the agents of clients.
func (c *serveCmd) agentFlags() *flags.AgentFlags {
	return &flags.AgentFlags{AddDir: c.AddDir, PermissionFlags: c.PermissionFlags, NoContextFiles: true}
}

// mcpFlags say whose servers are meant.
type mcpFlags struct {
	CWD string
	flags.MCPConfigFlags
}

func (c *mcpFlags) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder that a run would work in; default the current one.")
	b.Include(&c.MCPConfigFlags)
}

// listCmd is `holdfast mcp list`.
type listCmd struct {
	mcpFlags
	Check bool
	command.JSONFlag
}

func (c *listCmd) Declare(b *command.Builder) {
	b.Include(&c.mcpFlags)
	b.Flag(&c.Check, "check", "", "", "Start those that are approved, and say whether they answer and with which tools.")
	b.Include(&c.JSONFlag)
}

func (c *listCmd) Help() string {
	return `Where two servers have one name, the stronger place counts: --mcp-config, then the
project's .holdfast/settings.local.json, settings.json and .mcp.json, then your own
settings. The administrator's servers are above all. What a folder brings along is
"pending" until you approve it, and "changed" when it is something else since. KIND/NAME
is a server of the sub-agents of that kind.`
}

// getCmd is `holdfast mcp get`.
type getCmd struct {
	Name string
	mcpFlags
	Check bool
	command.JSONFlag
}

func (c *getCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "The server.")
	b.Include(&c.mcpFlags)
	b.Flag(&c.Check, "check", "", "", "Start it, and say whether it answers and with which tools.")
	b.Include(&c.JSONFlag)
}

// mcpScopeFlags say where a server is written down.
type mcpScopeFlags struct {
	Scope string
	CWD   string
	command.JSONFlag
}

func (c *mcpScopeFlags) Declare(b *command.Builder) {
	b.Flag(&c.Scope, "scope", "s", "SCOPE", "local (yours, in this project; the default), project (.mcp.json, for all who work on it) or user (yours, everywhere).", "local", "project", "user")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The project is that of this folder; default the current one.")
	b.Include(&c.JSONFlag)
}

// addCmd is `holdfast mcp add`.
type addCmd struct {
	Name    string
	Target  string
	Args    []string
	Type    string
	Env     []string
	Header  []string
	Client  string
	Port    int
	Replace bool
	mcpScopeFlags
}

func (c *addCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "What it is called: its tools are mcp__NAME__TOOL.")
	b.Arg(&c.Target, "command-or-url", "The program, or the address.")
	b.Verbatim = true
	b.Optional(&c.Args, "args", "Arguments of the program; -- in front of all of it keeps their flags from being ours.")
	b.Flag(&c.Type, "transport", "t", "TYPE", "stdio, http or sse; default stdio for a program and http for an address.", "stdio", "http", "sse")
	b.Flag(&c.Env, "env", "e", "NAME=VALUE", "A variable of the program's environment; may be repeated. ${NAME} is read from yours when it starts.")
	b.Flag(&c.Header, "header", "H", "'NAME: VALUE'", "A header of every request; may be repeated.")
	b.Flag(&c.Client, "client-id", "", "ID", "OAuth: what the server knows us by; default we register.")
	b.Flag(&c.Port, "callback-port", "", "PORT", "OAuth: where the browser comes back to; default any.")
	b.Flag(&c.Replace, "replace", "", "", "Replace one of that name.")
	b.Include(&c.mcpScopeFlags)
}

func (c *addCmd) Help() string {
	return `What you write down yourself in this way you have approved by it.

  holdfast mcp add files -- mcp-server-filesystem .
  holdfast mcp add -t http -H 'Authorization: Bearer ${TOKEN}' issues https://mcp.example.com/mcp

Programs run in the sandbox. What fetches itself when it starts, as with npx -y, needs
its host in sandbox.network.allowedDomains and a cache that it may write.`
}

// addJSONCmd is `holdfast mcp add-json`.
type addJSONCmd struct {
	Name    string
	Def     string
	Replace bool
	mcpScopeFlags
}

func (c *addJSONCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "What it is called.")
	b.Arg(&c.Def, "json", "Its definition, as in .mcp.json.")
	b.Flag(&c.Replace, "replace", "", "", "Replace one of that name.")
	b.Include(&c.mcpScopeFlags)
}

// removeCmd is `holdfast mcp remove`.
type removeCmd struct {
	Name string
	mcpScopeFlags
}

func (c *removeCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "The server.")
	b.Include(&c.mcpScopeFlags)
}

func (c *removeCmd) Help() string {
	return `Without --scope it is taken out of where it is written down.`
}

// mcpNames are servers that are decided about.
type mcpNames struct {
	Names []string
	CWD   string
	command.JSONFlag
}

func (c *mcpNames) Declare(b *command.Builder) {
	b.Arg(&c.Names, "name", "The servers.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder that brings them along; default the current one.")
	b.Include(&c.JSONFlag)
}

// approveCmd is `holdfast mcp approve`.
type approveCmd struct {
	mcpNames
	Yes bool
}

func (c *approveCmd) Declare(b *command.Builder) {
	b.Include(&c.mcpNames)
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
}

func (c *approveCmd) Help() string {
	return `Shows what would be started or reached, and asks. A server is approved with its whole
definition, as it is written: command line or address, environment, headers. When that
changes it needs approval again. Servers of your own settings need none.`
}

// fetchCmd is `holdfast mcp fetch`.
type fetchCmd struct {
	mcpFlags
	Name string
	Host []string
	command.JSONFlag
}

func (c *fetchCmd) Declare(b *command.Builder) {
	b.Include(&c.mcpFlags)
	b.Arg(&c.Name, "name", "The server; KIND/NAME for one of a kind of sub-agents.")
	b.Flag(&c.Host, "host", "", "HOST", "A host that may be reached as well: a registry of yours, @npm, @github. May be repeated.")
	b.Include(&c.JSONFlag)
}

func (c *fetchCmd) Help() string {
	return `Starts the server once in the sandbox with the registry of its launcher reachable (@npm for npx,
npm exec, pnpm dlx, yarn dlx and bunx; @pypi for uvx, uv tool run and pipx run), waits until it
answers, and ends it. What was fetched is in the caches of the project, from where runs start it
without a network.

  holdfast mcp fetch everything
  holdfast mcp fetch --host registry.example.com tools`
}

// rejectCmd is `holdfast mcp reject`.
type rejectCmd struct{ mcpNames }

func (c *rejectCmd) Declare(b *command.Builder) {
	b.Include(&c.mcpNames)
}

// revokeCmd is `holdfast mcp revoke`.
type revokeCmd struct{ mcpNames }

func (c *revokeCmd) Declare(b *command.Builder) {
	b.Include(&c.mcpNames)
}

// loginCmd is `holdfast mcp login`.
type loginCmd struct {
	Name    string
	Browser bool
	mcpFlags
}

func (c *loginCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "The server.")
	b.Flag(&c.Browser, "browser", "", "", "Open the page in the browser as well.")
	b.Include(&c.mcpFlags)
}

func (c *loginCmd) Help() string {
	return `Prints a page to open: there the server asks whether we may act for you, and the browser
brings the answer back to this machine. What it grants is kept in $HOLDFAST_HOME/mcp, for you
alone, and renewed without you as long as the server allows.`
}

// logoutCmd is `holdfast mcp logout`.
type logoutCmd struct {
	Name string
	mcpFlags
}

func (c *logoutCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "The server.")
	b.Include(&c.mcpFlags)
}
