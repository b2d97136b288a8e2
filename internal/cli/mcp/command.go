// Package mcp is `holdfast mcp`: manage the MCP servers that agents use, or serve as one.
package mcp

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command returns `holdfast mcp`.
func Command(p *command.Program) *command.Command {
	cmd := p.Command(&mcpCmd{}, "mcp", "Manage MCP servers, or serve as one.")
	command.AddCommands(cmd,
		p.Command(&serveCmd{}, "serve", "Serve Holdfast's tools to an MCP client over stdio or HTTP. Every call passes the permission policy."),
		p.Command(&listCmd{}, "list", "List the MCP servers of runs and their approval status.", "ls"),
		p.Command(&getCmd{}, "get", "Show one server, and with --check its tools."),
		p.Command(&addCmd{}, "add", "Add a server: a program or a URL."),
		p.Command(&addJSONCmd{}, "add-json", "Add a server from a JSON definition."),
		p.Command(&removeCmd{}, "remove", "Remove a server.", "rm"),
		p.Command(&approveCmd{}, "approve", "Approve a folder's servers in their current form."),
		p.Command(&rejectCmd{}, "reject", "Reject a folder's servers. Runs stop asking about them."),
		p.Command(&revokeCmd{}, "revoke", "Clear the approval or rejection of servers."),
		p.Command(&fetchCmd{}, "fetch", "Download a server that is started with npx, uvx or another launcher, so that it can start offline."),
		p.Command(&loginCmd{}, "login", "Log in to a server with OAuth."),
		p.Command(&logoutCmd{}, "logout", "Log out of a server."),
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
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The working folder. Default: the current folder.")
	b.Flag(&c.AddDir, "add-dir", "", "FOLDER", "An additional folder that tools may use. Repeatable.")
	b.Flag(&c.AllProjects, "all-projects", "", "", "Let the session tools read sessions of all projects, not only of this one.")
	b.Heading = ""
	b.Include(&c.PermissionFlags)
	b.Heading = "Reach"
	b.Flag(&c.HTTP, "http", "", "HOST:PORT", "Serve streamable HTTP at /mcp on this address, to clients with a token (holdfast daemon token create --scope run NAME). Addresses that other machines can reach need TLS.")
	b.Path(&c.TLSCert, "tls-cert", "", "FILE", "Use TLS with this certificate chain (PEM).")
	b.Path(&c.TLSKey, "tls-key", "", "FILE", "The certificate's private key (PEM).")
	b.Flag(&c.AllowHost, "allow-host", "", "HOST[:PORT]", "An additional host name that clients may use for the server.")
	b.Flag(&c.AllowOrigin, "allow-origin", "", "ORIGIN", "An additional web origin that may call the server.")
	b.Heading = ""
	b.Include(&c.StoreFlags)
}

func (c *serveCmd) Help() string {
	return `Serves Read, Write, Edit, Bash, Glob and Grep, and SessionList, SessionSearch and SessionShow to
read earlier sessions. Each call is decided, confined and recorded like a model's call, with the
settings, hooks and sandbox of holdfast run. Calls that need approval are denied, unless
--on-ask wait (or the onAsk setting) makes them wait for holdfast approvals or the console. With
--http, this terminal asks. MCP clients cannot approve calls.

  claude mcp add holdfast -- holdfast mcp serve --cwd ~/project
  holdfast mcp serve --http 127.0.0.1:7424`
}

// agentFlags are the flags for the agents that clients use.
func (c *serveCmd) agentFlags() *flags.AgentFlags {
	return &flags.AgentFlags{AddDir: c.AddDir, PermissionFlags: c.PermissionFlags, NoContextFiles: true}
}

// mcpFlags select the folder whose MCP servers the command uses.
type mcpFlags struct {
	CWD string
	flags.MCPConfigFlags
}

func (c *mcpFlags) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The working folder of a run. Default: the current folder.")
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
	b.Flag(&c.Check, "check", "", "", "Start the approved servers and show whether they answer and which tools they have.")
	b.Include(&c.JSONFlag)
}

func (c *listCmd) Help() string {
	return `If two servers have the same name, the stronger source wins: --mcp-config, then the project's
.holdfast/settings.local.json, settings.json and .mcp.json, then your own settings. Managed
servers are above all. A folder's server is "pending" until you approve it, and "changed" if its
definition changed after that. KIND/NAME is a server of the sub-agents of that kind.`
}

// getCmd is `holdfast mcp get`.
type getCmd struct {
	Name string
	mcpFlags
	Check bool
	command.JSONFlag
}

func (c *getCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "The server's name.")
	b.Include(&c.mcpFlags)
	b.Flag(&c.Check, "check", "", "", "Start the server and show whether it answers and which tools it has.")
	b.Include(&c.JSONFlag)
}

// mcpScopeFlags select the settings file of a server.
type mcpScopeFlags struct {
	Scope string
	CWD   string
	command.JSONFlag
}

func (c *mcpScopeFlags) Declare(b *command.Builder) {
	b.Flag(&c.Scope, "scope", "s", "SCOPE", "Where to save the server: local (yours, this project; the default), project (.mcp.json, shared) or user (yours, all projects).", "local", "project", "user")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The project's folder. Default: the current folder.")
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
	b.Arg(&c.Name, "name", "The server's name. Its tools are called mcp__NAME__TOOL.")
	b.Arg(&c.Target, "command-or-url", "The program, or the URL.")
	b.Verbatim = true
	b.Optional(&c.Args, "args", "The program's arguments. Put -- before the program so that its flags are not read as holdfast flags.")
	b.Flag(&c.Type, "transport", "t", "TYPE", "The transport: stdio, http or sse. Default: stdio for a program and http for a URL.", "stdio", "http", "sse")
	b.Flag(&c.Env, "env", "e", "NAME=VALUE", "An environment variable for the program. Repeatable. ${NAME} is replaced from your environment at start.")
	b.Flag(&c.Header, "header", "H", "'NAME: VALUE'", "A header of every request. Repeatable.")
	b.Flag(&c.Client, "client-id", "", "ID", "OAuth client id. Default: register a client dynamically.")
	b.Flag(&c.Port, "callback-port", "", "PORT", "OAuth callback port. Default: any free port.")
	b.Flag(&c.Replace, "replace", "", "", "Replace a server of the same name.")
	b.Include(&c.mcpScopeFlags)
}

func (c *addCmd) Help() string {
	return `Servers that you add with this command are approved.

  holdfast mcp add files -- mcp-server-filesystem .
  holdfast mcp add -t http -H 'Authorization: Bearer ${TOKEN}' issues https://mcp.example.com/mcp

Programs run in the sandbox and reach only the hosts in sandbox.network.allowedDomains, by default
none. If the server is started with npx, uvx or another launcher, download it once:
holdfast mcp fetch NAME.`
}

// addJSONCmd is `holdfast mcp add-json`.
type addJSONCmd struct {
	Name    string
	Def     string
	Replace bool
	mcpScopeFlags
}

func (c *addJSONCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "The server's name.")
	b.Arg(&c.Def, "json", "The definition, as in .mcp.json.")
	b.Flag(&c.Replace, "replace", "", "", "Replace a server of the same name.")
	b.Include(&c.mcpScopeFlags)
}

// removeCmd is `holdfast mcp remove`.
type removeCmd struct {
	Name string
	mcpScopeFlags
}

func (c *removeCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "The server's name.")
	b.Include(&c.mcpScopeFlags)
}

func (c *removeCmd) Help() string {
	return `Without --scope, the server is removed from the only scope that defines it.`
}

// mcpNames are the servers to approve, reject or revoke.
type mcpNames struct {
	Names []string
	CWD   string
	command.JSONFlag
}

func (c *mcpNames) Declare(b *command.Builder) {
	b.Arg(&c.Names, "name", "The servers' names.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder that defines them. Default: the current folder.")
	b.Include(&c.JSONFlag)
}

// approveCmd is `holdfast mcp approve`.
type approveCmd struct {
	mcpNames
	Yes bool
}

func (c *approveCmd) Declare(b *command.Builder) {
	b.Include(&c.mcpNames)
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask for confirmation.")
}

func (c *approveCmd) Help() string {
	return `Shows the command or URL of each server and asks for confirmation. Approval covers the whole
definition: command line or URL, environment, headers. If the definition changes, the server needs
approval again. Servers in your own settings need no approval.`
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
	b.Arg(&c.Name, "name", "The server's name; KIND/NAME for a server of sub-agents.")
	b.Flag(&c.Host, "host", "", "HOST", "An additional host to reach, such as a private registry, @npm or @github. Repeatable.")
	b.Include(&c.JSONFlag)
}

func (c *fetchCmd) Help() string {
	return `Starts the server once in the sandbox with access to the registry of its launcher (@npm for npx,
npm exec, pnpm dlx, yarn dlx and bunx; @pypi for uvx, uv tool run and pipx run), waits until it
answers, and stops it. The downloads stay in the project's caches, from which runs start the server
offline.

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
	b.Arg(&c.Name, "name", "The server's name.")
	b.Flag(&c.Browser, "browser", "", "", "Also open the page in the browser.")
	b.Include(&c.mcpFlags)
}

func (c *loginCmd) Help() string {
	return `Prints a URL. Open it in a browser and allow access; the browser then returns to this machine. The
token is stored in $HOLDFAST_HOME/mcp, readable only by you, and renewed automatically as long as
the server allows.`
}

// logoutCmd is `holdfast mcp logout`.
type logoutCmd struct {
	Name string
	mcpFlags
}

func (c *logoutCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "The server's name.")
	b.Include(&c.mcpFlags)
}
