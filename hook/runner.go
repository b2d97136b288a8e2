package hook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/urlpattern"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// CommandsOptions adjusts [NewCommands].
type CommandsOptions struct {
	// Project is CLAUDE_PROJECT_DIR: the folder the session was started in.
	Project string
	// Environ is what commands get to know of, with [Definition].Env; default
	// os.Environ. Keys and tokens in it are not passed on unless they are named.
	Environ []string
	// Read and Write hold commands, by [Definition].Sandbox. A nil one refuses such hooks;
	// Unheld lets them run without a sandbox instead.
	Read, Write *sandbox.Sandbox
	NoSandbox   bool
	// EnvFile is CLAUDE_ENV_FILE, as commands see it; "" for none.
	EnvFile string
	// URLs are patterns that http hooks may reach besides loopback addresses:
	// "https://hooks.example.com/*". "*" stands for any text within the host, or within
	// the path and query. EnvVars bounds what any hook's Env may name; nil is no bound.
	URLs    []string
	EnvVars []string
	Client  *http.Client // default one without proxy; redirects are never followed
}

// Commands runs commands and HTTP hooks. It is safe for concurrent use.
//
// A command ends with everything that it started, in a sandbox or without: when its
// main process has ended, when ctx has (SIGTERM, and SIGKILL 400 ms later), and when
// its own process goes. Where the kernel has no pid namespaces for this process, a
// command without a sandbox takes its process group along, and what has left that
// group lives on.
type Commands struct {
	opt    CommandsOptions
	urls   []urlpattern.Pattern
	client *http.Client

	life      context.Context // of commands that have detached themselves
	end       context.CancelFunc
	mu        sync.Mutex
	detached  sync.WaitGroup
	closed    bool
	asked     bool             // whether the kernel keeps commands without a sandbox together
	noSandbox *sandbox.Sandbox // that does; or nil
}

// NewCommands returns a runner. The error is an *[Error] about a setting. The caller
// closes it.
func NewCommands(o *CommandsOptions) (*Commands, error) {
	c := &Commands{}
	if o != nil {
		c.opt = *o
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	return c, nil
}

// Run implements [Runner]. After [RunResult].Later is returned, ctx is heeded no more.
func (c *Commands) Run(ctx context.Context, d *Definition, in *Input) (RunResult, error) {
	if err := ctx.Err(); err != nil {
		return RunResult{}, err
	}
	switch d.Type() {
	case typeHTTP:
		return c.post(ctx, d, in)
	case typeCommand:
		return c.command(ctx, d, in)
	}
	return RunResult{}, errors.New("a function is not a command")
}

// Close ends the commands that have detached themselves, and waits for that. The
// sandboxes are the caller's.
func (c *Commands) Close() error {
	c.mu.Lock()
	c.closed = true
	box := c.noSandbox
	c.mu.Unlock()
	c.end()
	c.detached.Wait()
	if c.opt.Client == nil {
		c.client.CloseIdleConnections()
	}
	if box != nil {
		return box.Close()
	}
	return nil
}

var errRunnerClosed = errors.New("the runner of hooks is closed")

func (c *Commands) prepare() error {
	o := &c.opt
	for name, value := range map[string]string{"Project": o.Project, "EnvFile": o.EnvFile} {
		if value != "" && !filepath.IsAbs(value) {
			return &Error{Field: name, What: fmt.Sprintf("%q is not absolute", value)}
		}
	}
	o.EnvVars = slices.Clone(o.EnvVars)
	if o.Environ = slices.Clone(o.Environ); o.Environ == nil {
		o.Environ = os.Environ()
	}
	for i, text := range o.URLs {
		p, err := urlpattern.Parse(text)
		if err != nil {
			return &Error{Field: fmt.Sprintf("URLs[%d]", i), What: err.Error(), Advice: `write it like "https://hooks.example.com/*"`}
		}
		c.urls = append(c.urls, p)
	}
	c.client = newClient(o.Client)
	c.life, c.end = context.WithCancel(context.Background())
	return nil
}

// together returns what keeps commands without a sandbox together, or nil.
func (c *Commands) together() (*sandbox.Sandbox, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errRunnerClosed
	}
	if !c.asked {
		c.asked = true
		c.noSandbox, _ = sandbox.Open(nil, &sandbox.OpenOptions{NoConfinement: true}) // without it the process group must do
	}
	return c.noSandbox, nil
}
