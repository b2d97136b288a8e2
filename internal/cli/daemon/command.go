// Package daemon is `holdfast daemon`. It starts the daemon, which runs agents for many clients,
// and manages the daemon's tokens, console and systemd units.
package daemon

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// Command returns `holdfast daemon`.
func Command(p *command.Program) *command.Command {
	cmd := p.Command(&runCmd{}, "daemon", "Serve runs, approvals, sessions and the web console to many clients.")
	command.AddCommands(cmd,
		p.Command(&statusCmd{}, "status", "Show whether a daemon is running, and where."),
		p.Command(&stopCmd{}, "stop", "Stop the daemon. Running turns may finish; approvals stay pending."),
		p.Command(&openCmd{}, "open", "Print a one-time login link for a browser."),
		newDaemonTokenCmd(p),
		command.Hide(p.Command(&runCmd{}, "run", "The older name of holdfast daemon.")),
		p.Command(&unitCmd{}, "unit", "Print systemd units with the path of this program."),
	)
	return cmd
}

func newDaemonTokenCmd(p *command.Program) *command.Command {
	return p.Group("token", "Create, list and revoke API tokens.",
		p.Command(&tokenCreateCmd{}, "create", "Create a token. Its secret is printed only once."),
		p.Command(&tokenListCmd{}, "list", "List tokens, newest first.", "ls"),
		p.Command(&tokenRevokeCmd{}, "revoke", "Revoke a token. Its connections, and browser logins made with it, end.", "rm"),
	)
}

// listenFlags configure the daemon's address and access. If a flag is not given, its value comes
// from a variable HOLDFAST_DAEMON_…, or else from the block "daemon" in the user's settings or the
// managed settings. Empty variables are ignored.
type listenFlags struct {
	Listen      []string
	TLSCert     string
	TLSKey      string
	AllowHost   []string
	AllowOrigin []string
	Drain       *time.Duration
	StoreWait   *time.Duration
	LogFormat   string
	LogFile     string
}

func (c *listenFlags) Declare(b *command.Builder) {
	b.Heading = "Reach"
	b.Flag(&c.Listen, "listen", "", "HOST:PORT", "Also listen on this TCP address, for clients with a token or a login. Repeatable. Addresses that other machines can reach need TLS. Default: $HOLDFAST_DAEMON_LISTEN.")
	b.Path(&c.TLSCert, "tls-cert", "", "FILE", "Use TLS on TCP with this certificate chain (PEM). Default: $HOLDFAST_DAEMON_TLS_CERT.")
	b.Path(&c.TLSKey, "tls-key", "", "FILE", "The certificate's private key (PEM). Default: $HOLDFAST_DAEMON_TLS_KEY.")
	b.Flag(&c.AllowHost, "allow-host", "", "HOST[:PORT]", "An additional host name that TCP clients may use for the daemon. Default: $HOLDFAST_DAEMON_ALLOW_HOST.")
	b.Flag(&c.AllowOrigin, "allow-origin", "", "ORIGIN", "An additional web origin that may call the daemon, such as https://console.example.org. Default: $HOLDFAST_DAEMON_ALLOW_ORIGIN.")
	b.Flag(&c.Drain, "drain", "", "TIME", "How long running turns may take to finish at shutdown. Default: $HOLDFAST_DAEMON_DRAIN, else 30s.")
	b.Flag(&c.StoreWait, "store-wait", "", "TIME", "How long runs wait for an unreachable or full store before they are interrupted. Default: $HOLDFAST_STORE_WAIT, else 5m.")
	b.Flag(&c.LogFormat, "log-format", "", "FORMAT", "Log format: text or json. Default: $HOLDFAST_DAEMON_LOG_FORMAT, else text on a terminal and json elsewhere.", "text", "json")
	b.Path(&c.LogFile, "log-file", "", "FILE", "Append the log to this file. At 1 MiB it is copied to FILE.1 and begins again. Default: standard error.")
}

// runCmd is `holdfast daemon run`, and `holdfast daemon`.
type runCmd struct {
	listenFlags
	Resume         bool
	StopWorkspaces bool
	ExitIdle       time.Duration
	command.StoreFlags
}

func (c *runCmd) Declare(b *command.Builder) {
	b.Include(&c.listenFlags)
	b.Flag(&c.Resume, "resume", "", "", "Resume runs that the previous daemon left unfinished.")
	b.Flag(&c.StopWorkspaces, "stop-workspaces", "", "", "Stop the workspace containers when the daemon ends. Without this flag they keep running.")
	b.Flag(&c.ExitIdle, "exit-idle", "", "TIME", "End when nothing has used the daemon for this time: no run works or waits for an answer, and no client is connected. Default: never.")
	b.Include(&c.StoreFlags)
}

// statusCmd is `holdfast daemon status`.
type statusCmd struct{ command.JSONFlag }

func (c *statusCmd) Declare(b *command.Builder) {
	b.Include(&c.JSONFlag)
}

// stopCmd is `holdfast daemon stop`.
type stopCmd struct {
	Now     bool
	Timeout time.Duration
}

func (c *stopCmd) Declare(b *command.Builder) {
	b.Flag(&c.Now, "now", "", "", "Stop immediately. Running turns are interrupted and can be resumed.")
	c.Timeout = 90 * time.Second
	b.Flag(&c.Timeout, "timeout", "", "TIME", "How long to wait for the daemon to stop.")
}

// openCmd is `holdfast daemon open`.
type openCmd struct {
	Browser bool
	command.JSONFlag
}

func (c *openCmd) Declare(b *command.Builder) {
	b.Flag(&c.Browser, "browser", "", "", "Also open the link in the browser.")
	b.Include(&c.JSONFlag)
}

func (c *openCmd) Help() string {
	return `The link works once, for three minutes. Anyone who opens it gets full rights to this daemon.
The code after # is sent only to the daemon.`
}

// tokenCreateCmd is `holdfast daemon token create`.
type tokenCreateCmd struct {
	Name    string
	Scope   []string
	Expires string
	command.JSONFlag
}

func (c *tokenCreateCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "The name of the token. Answers given with the token are recorded under it.")
	b.Words(&c.Scope, "scope", "s", "SCOPE", "Scopes of the token: read, run, approve, admin. Comma-separated or repeated.")
	b.Flag(&c.Expires, "expires", "", "TIME", "When the token expires, such as 12h or 30d. Default: never.")
	b.Include(&c.JSONFlag)
	b.Require("scope")
}

// tokenListCmd is `holdfast daemon token list`.
type tokenListCmd struct{ command.JSONFlag }

func (c *tokenListCmd) Declare(b *command.Builder) {
	b.Include(&c.JSONFlag)
}

// tokenRevokeCmd is `holdfast daemon token revoke`.
type tokenRevokeCmd struct {
	ID []string
}

func (c *tokenRevokeCmd) Declare(b *command.Builder) {
	b.Arg(&c.ID, "id", "The token's id, as holdfast daemon token list prints it.")
}

// unitCmd is `holdfast daemon unit`.
type unitCmd struct {
	Socket bool
	Resume bool
}

func (c *unitCmd) Declare(b *command.Builder) {
	b.Flag(&c.Socket, "socket", "", "", "Print the socket unit, which starts the daemon when the first client connects.")
	c.Resume = true
	b.Flag(&c.Resume, "resume", "", "", "Resume runs that the previous daemon left unfinished. Use --resume=false to leave them interrupted.")
}

func (c *unitCmd) Help() string {
	return `  holdfast daemon unit > ~/.config/systemd/user/holdfast.service
  holdfast daemon unit --socket > ~/.config/systemd/user/holdfast.socket
  systemctl --user daemon-reload
  systemctl --user enable --now holdfast.socket`
}
