// Package daemon is `holdfast daemon`: serve runs to many clients, and manage the daemon's
// tokens, its page and its systemd units.
package daemon

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// Command makes `holdfast daemon`.
func Command(p *command.Program) *command.Command {
	cmd := p.Command(&runCmd{}, "daemon", "Serve runs, questions and sessions to many clients, and a console.")
	command.AddCommands(cmd,
		p.Command(&statusCmd{}, "status", "Say whether a daemon runs, and where."),
		p.Command(&stopCmd{}, "stop", "Let the daemon end: what runs may finish, questions stay open."),
		p.Command(&openCmd{}, "open", "Print a link that logs a browser in once."),
		newDaemonTokenCmd(p),
		command.Hide(p.Command(&runCmd{}, "run", "Serve runs, questions, sessions and the console: holdfast daemon.")),
		p.Command(&unitCmd{}, "unit", "Print units for systemd with this program's path."),
	)
	return cmd
}

func newDaemonTokenCmd(p *command.Program) *command.Command {
	return p.Group("token", "Make, list and revoke the tokens of programs.",
		p.Command(&tokenCreateCmd{}, "create", "Make a token; its secret is printed this once."),
		p.Command(&tokenListCmd{}, "list", "List the tokens, newest first.", "ls"),
		p.Command(&tokenRevokeCmd{}, "revoke", "Take a token back; its connections end.", "rm"),
	)
}

// listenFlags say where the daemon is and who reaches it. What a flag does not say, a
// variable HOLDFAST_DAEMON_… does, and then the block "daemon" of the user's settings
// and the administrator's; an empty variable says nothing.
type listenFlags struct {
	Listen      []string
	TLSCert     string
	TLSKey      string
	AllowHost   []string
	AllowOrigin []string
	Drain       *time.Duration
	StoreWait   *time.Duration
	LogFormat   string
}

func (c *listenFlags) Declare(b *command.Builder) {
	b.Heading = "Reach"
	b.Flag(&c.Listen, "listen", "", "HOST:PORT", "Serve TCP as well, to clients with a token or a login; more than once for more. Beyond this machine it needs TLS. Default $HOLDFAST_DAEMON_LISTEN.")
	b.Path(&c.TLSCert, "tls-cert", "", "FILE", "Speak TLS on TCP with this certificate and its chain (PEM). Default $HOLDFAST_DAEMON_TLS_CERT.")
	b.Path(&c.TLSKey, "tls-key", "", "FILE", "The certificate's key (PEM). Default $HOLDFAST_DAEMON_TLS_KEY.")
	b.Flag(&c.AllowHost, "allow-host", "", "HOST[:PORT]", "A name under which TCP clients call the daemon, beside its addresses. Default $HOLDFAST_DAEMON_ALLOW_HOST.")
	b.Flag(&c.AllowOrigin, "allow-origin", "", "ORIGIN", "Another origin whose pages may reach the daemon: https://console.example.org. Default $HOLDFAST_DAEMON_ALLOW_ORIGIN.")
	b.Flag(&c.Drain, "drain", "", "TIME", "How long what runs may take to end when the daemon ends; default $HOLDFAST_DAEMON_DRAIN, else 30s.")
	b.Flag(&c.StoreWait, "store-wait", "", "TIME", "How long runs wait for a store that is away or full before they are interrupted; default $HOLDFAST_STORE_WAIT, else 5m.")
	b.Flag(&c.LogFormat, "log-format", "", "FORMAT", "text or json; default $HOLDFAST_DAEMON_LOG_FORMAT, else text on a terminal and json elsewhere.", "text", "json")
}

// runCmd is `holdfast daemon run`, and `holdfast daemon`.
type runCmd struct {
	listenFlags
	Resume         bool
	StopWorkspaces bool
	command.StoreFlags
}

func (c *runCmd) Declare(b *command.Builder) {
	b.Include(&c.listenFlags)
	b.Flag(&c.Resume, "resume", "", "", "Go on by itself with runs that an earlier daemon left in the middle.")
	b.Flag(&c.StopWorkspaces, "stop-workspaces", "", "", "Stop the containers of workspaces when the daemon ends; otherwise they run on.")
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
	b.Flag(&c.Now, "now", "", "", "At once: what runs is interrupted as by a crash, and can be continued.")
	c.Timeout = 90 * time.Second
	b.Flag(&c.Timeout, "timeout", "", "TIME", "How long to wait for its end.")
}

// openCmd is `holdfast daemon open`.
type openCmd struct {
	Browser bool
	command.JSONFlag
}

func (c *openCmd) Declare(b *command.Builder) {
	b.Flag(&c.Browser, "browser", "", "", "Open it in the browser as well.")
	b.Include(&c.JSONFlag)
}

func (c *openCmd) Help() string {
	return `The link works once, within three minutes, and logs in whoever opens it with all rights
over this daemon. The code stands behind the # and is sent to nobody but the daemon.`
}

// tokenCreateCmd is `holdfast daemon token create`.
type tokenCreateCmd struct {
	Name    string
	Scope   []string
	Expires string
	command.JSONFlag
}

func (c *tokenCreateCmd) Declare(b *command.Builder) {
	b.Arg(&c.Name, "name", "Who or what it is for; answers are on record with it.")
	b.Words(&c.Scope, "scope", "s", "SCOPE", "What it may: read, run, approve, admin; commas, or more than once.")
	b.Flag(&c.Expires, "expires", "", "TIME", "When it ends: 12h, 30d; default never.")
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
	b.Arg(&c.ID, "id", "The token's id, from the list.")
}

// unitCmd is `holdfast daemon unit`.
type unitCmd struct {
	Socket bool
	Resume bool
}

func (c *unitCmd) Declare(b *command.Builder) {
	b.Flag(&c.Socket, "socket", "", "", "The socket's unit, which starts the daemon for the first client.")
	c.Resume = true
	b.Flag(&c.Resume, "resume", "", "", "The daemon goes on by itself with runs that an earlier one left in the middle; --resume=false leaves them interrupted.")
}

func (c *unitCmd) Help() string {
	return `  holdfast daemon unit > ~/.config/systemd/user/holdfast.service
  holdfast daemon unit --socket > ~/.config/systemd/user/holdfast.socket
  systemctl --user daemon-reload
  systemctl --user enable --now holdfast.socket`
}
