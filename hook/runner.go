package hook

import (
	"context"
	"errors"
	"net/http"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// CommandsOptions adjusts [NewCommands].
type CommandsOptions struct {
	// Project is CLAUDE_PROJECT_DIR: the folder the session was started in.
	Project string
	// Environ is what commands get to know of, with [Definition].Env; default
	// os.Environ. Keys and tokens in it are not passed on unless they are named.
	Environ []string
	// Read and Write hold commands, by [Access]. A nil one refuses such hooks;
	// Unheld lets them run without a sandbox instead.
	Read, Write *sandbox.Sandbox
	Unheld      bool
	// EnvFile is CLAUDE_ENV_FILE, as commands see it; "" for none.
	EnvFile string
	// URLs are patterns that http hooks may reach besides loopback addresses:
	// "https://hooks.example.com/*". EnvVars bounds what any hook's Env may name; nil
	// is no bound.
	URLs    []string
	EnvVars []string
	Client  *http.Client // default one without proxy and redirects
}

// Commands runs commands and HTTP hooks. It is safe for concurrent use.
type Commands struct{ commands }

// NewCommands returns a runner.
func NewCommands(o *CommandsOptions) (*Commands, error) { return newCommands(o) }

// Run implements [Runner].
func (c *Commands) Run(ctx context.Context, d *Definition, in *Input) (Answer, error) {
	return c.run(ctx, d, in)
}

type commands struct{}

func newCommands(*CommandsOptions) (*Commands, error) { return nil, errors.New("hook: not built") }

func (c *commands) run(context.Context, *Definition, *Input) (Answer, error) {
	return Answer{}, errors.New("hook: not built")
}
