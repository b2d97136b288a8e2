package mcp

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// serveCmd is `holdfast mcp serve`, and `holdfast mcp` alone.
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

// agentFlags are those of the agents of clients.
func (c *serveCmd) agentFlags() *flags.AgentFlags {
	return &flags.AgentFlags{AddDir: c.AddDir, PermissionFlags: c.PermissionFlags, NoContextFiles: true}
}

// Help says more than one line.
func (c *serveCmd) Help() string {
	return `Offers Read, Write, Edit, Bash, Glob and Grep, and SessionList, SessionSearch and SessionShow
to read what earlier sessions said. Each call is judged, confined and recorded as a
model's: settings, hooks and sandbox are those of holdfast run. What would be asked is
denied, unless settings or --on-ask wait let it wait for holdfast approvals or the
console; with --http the person at this terminal is asked. No client can approve.

  claude mcp add holdfast -- holdfast mcp serve --cwd ~/project
  holdfast mcp serve --http 127.0.0.1:7424`
}
