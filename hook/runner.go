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

// CommandsOptions configures [NewCommands].
type CommandsOptions struct {
	// Project is CLAUDE_PROJECT_DIR, the folder in which the session was started.
	Project string
	// Environ is the environment of commands; default os.Environ. Keys and tokens in it are passed
	// only to a hook that names them in [Definition].Env.
	Environ []string
	// Read and Write are the sandboxes of commands, by [Definition].Sandbox. If one of them is nil,
	// the hooks that need it are refused, unless NoSandbox lets them run without a sandbox.
	Read, Write *sandbox.Sandbox
	NoSandbox   bool
	// EnvFile is the value of CLAUDE_ENV_FILE that commands see, or "".
	EnvFile string
	// URLs are patterns of addresses that HTTP hooks may call, in addition to loopback:
	// "https://hooks.example.com/*". "*" matches any text within the host, or within the path and
	// query. EnvVars limits the names in every hook's Env; nil means no limit.
	URLs    []string
	EnvVars []string
	Client  *http.Client // default: a client without a proxy; redirects are never followed
}

// Commands runs commands and HTTP hooks. It is safe for concurrent use.
//
// A command ends together with every process that it started, with or without a sandbox. It ends
// when its main process ends, when ctx ends (SIGTERM, and SIGKILL 400 ms later), and when this
// process ends. If the kernel has no pid namespaces for this process, a command without a sandbox
// runs in a process group. When the command ends, the group is killed, but processes that left the
// group survive.
type Commands struct {
	opt    CommandsOptions
	urls   []urlpattern.Pattern
	client *http.Client

	life       context.Context // of detached commands
	end        context.CancelFunc
	mu         sync.Mutex
	detached   sync.WaitGroup
	closed     bool
	opened     bool             // whether opening unconfined was tried
	unconfined *sandbox.Sandbox // keeps together the processes of commands that are not confined; or nil
}

// NewCommands returns a runner. The error is an *[Error] about an option. The caller closes the
// runner.
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

// Run implements [Runner]. After Run has returned a [RunResult] with Async, the end of ctx no
// longer ends the command.
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

// Close ends the detached commands and waits for them. It does not close the sandboxes Read and
// Write of [CommandsOptions].
func (c *Commands) Close() error {
	c.mu.Lock()
	c.closed = true
	box := c.unconfined
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

// openUnconfined returns a sandbox that does not confine commands but keeps the processes of each
// command together. It returns nil if that sandbox could not be opened.
func (c *Commands) openUnconfined() (*sandbox.Sandbox, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errRunnerClosed
	}
	if !c.opened {
		c.opened = true
		c.unconfined, _ = sandbox.Open(nil, &sandbox.OpenOptions{NoConfinement: true}) // if this fails, the process group is used
	}
	return c.unconfined, nil
}
