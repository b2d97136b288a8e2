package mcp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/tool"
)

// Options configure [Open].
type Options struct {
	// Sandbox confines stdio servers; if nil, they are not confined. The caller closes the sandbox
	// after the client.
	Sandbox *sandbox.Sandbox
	// Egress transports the HTTP connections; if it is nil, they are not restricted.
	Egress *egress.Proxy

	// Dir is the folder in which stdio servers start; default the current folder.
	Dir string
	// Environ is the environment of the user; nil means the environment of this process. ${VAR} is
	// looked up in it. Stdio servers get only the variables that [environ.ForCommands] selects.
	Environ []string

	// Tokens is the folder for OAuth tokens, created with mode 0700. If empty, tokens are not stored.
	Tokens string

	// Elicit asks the user for information that a server needs during a call. If it is nil, servers
	// are informed that no one can answer.
	Elicit func(ctx context.Context, e Elicitation) (Answer, error)
	// FireHook runs hooks at Elicitation and ElicitationResult; nil if there are none.
	FireHook func(ctx context.Context, in hook.Input) (hook.Outcome, error)
	// Notice reports events of a server to the user. It may be called from any goroutine, and
	// should not block.
	Notice func(text string)
	// Log receives diagnostic messages, which contain no tokens and no content.
	Log *slog.Logger

	// Wait is how long [Client.Tools] waits for servers that are connecting; default 3 seconds.
	Wait time.Duration
	// Parent is another client whose resources the tools of this client can also read. For the
	// servers of a sub-agent, it is the client of the run. Parent is closed after this client; may
	// be nil.
	Parent *Client
	// Name and Version identify this client to servers; default "holdfast".
	Name, Version string
	// TLS configures connections; nil means the default.
	TLS *tls.Config
}

// Client is connected to the servers of a session. It is safe for concurrent use.
type Client struct {
	o     Options
	links []*serverLink // by prefix

	ctx        context.Context // ends with Close
	stop       context.CancelFunc
	goroutines sync.WaitGroup

	start    sync.Once
	httpOnce sync.Once
	http     *http.Transport

	resourcesOnce sync.Once
	readers       []tool.Tool // tools that read resources

	announcing sync.Mutex // held while the list is reported
	mu         sync.Mutex
	onChange   func([]tool.Tool)
	lastTools  string // digest of the list that was last reported
	omitted    int    // number of tools omitted because of the limit
	stores     map[string]*tokenStore
	closed     bool
}

// Open returns a client for servers that the user has approved. It does no I/O: servers are
// connected by [Client.Start], or when they are first used. The error is an *[Error] about one
// server. The caller closes the client.
func Open(servers []Server, o *Options) (*Client, error) {
	if err := checkAll(servers); err != nil {
		return nil, err
	}
	c := &Client{}
	if o != nil {
		c.o = *o
	}
	if c.o.Environ == nil {
		c.o.Environ = os.Environ()
	}
	if c.o.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("open MCP client: %w", err)
		}
		c.o.Dir = dir
	}
	if c.o.Log == nil {
		c.o.Log = slog.New(slog.DiscardHandler)
	}
	if c.o.Wait <= 0 {
		c.o.Wait = 3 * time.Second
	}
	c.o.Name, c.o.Version = cmp.Or(c.o.Name, "holdfast"), cmp.Or(c.o.Version, "1")
	c.ctx, c.stop = context.WithCancel(context.Background())
	for _, s := range servers {
		c.links = append(c.links, newLink(c, s))
	}
	slices.SortFunc(c.links, func(a, b *serverLink) int { return cmp.Compare(a.server.prefix(), b.server.prefix()) })
	return c, nil
}

// Start connects to all servers concurrently and in the background. It returns immediately; a second call
// does nothing.
func (c *Client) Start() {
	c.start.Do(func() {
		for _, l := range c.links {
			l.begin()
		}
	})
}

// Tools returns the tools of the connected servers in a stable order. If a server has resources, it
// also returns two tools that read them. It waits for servers that are connecting until ctx ends,
// and at most [Options].Wait.
func (c *Client) Tools(ctx context.Context) []tool.Tool {
	c.settle(ctx)
	c.announcing.Lock()
	defer c.announcing.Unlock()
	list, id := c.list()
	c.mu.Lock()
	c.lastTools = id
	c.mu.Unlock()
	return list
}

// ToolsForSubagent is like [Client.Tools], but does not mark the list as reported to the function of
// [Client.OnChange].
func (c *Client) ToolsForSubagent(ctx context.Context) []tool.Tool {
	c.settle(ctx)
	list, _ := c.list()
	return list
}

// settle waits for servers that are connecting.
func (c *Client) settle(ctx context.Context) {
	c.Start()
	ctx, cancel := context.WithTimeout(ctx, c.o.Wait)
	defer cancel()
	for _, l := range c.links {
		l.awaitAttempt(ctx)
	}
}

// OnChange sets a function that receives the complete list of tools whenever it differs from the
// list that [Client.Tools] last returned or f last received. This happens, for example, if a server
// connected late, failed permanently, or changed its tools. Calls of f do not overlap; f must not
// call Tools.
func (c *Client) OnChange(f func([]tool.Tool)) {
	c.mu.Lock()
	c.onChange = f
	c.mu.Unlock()
	c.spawn(c.changed) // since the list was reported
}

// changed reports the list if it has changed.
func (c *Client) changed() {
	c.announcing.Lock()
	defer c.announcing.Unlock()
	list, id := c.list()
	c.mu.Lock()
	f := c.onChange
	news := id != c.lastTools && f != nil && !c.closed
	if news {
		c.lastTools = id
	}
	c.mu.Unlock()
	if news {
		f(list)
	}
}

// maxTools is the maximum number of tools of all servers together.
const maxTools = 512

// list returns the current tools and their digest.
func (c *Client) list() (list []tool.Tool, id string) {
	resources, all := false, 0
	for _, l := range c.links {
		tools, has := l.offered()
		resources = resources || has
		all += len(tools)
		for _, t := range tools {
			if len(list) == maxTools {
				break
			}
			list = append(list, t)
			id += t.spec.Name + " " + t.digest + "\n"
		}
	}
	c.tooMany(len(list), all)
	if resources {
		id += "resources\n"
		list = append(list, c.resourceTools()...)
	}
	return list, id
}

// tooMany reports how many tools are omitted, if this number has changed.
func (c *Client) tooMany(offered, all int) {
	c.mu.Lock()
	news := all-offered > 0 && all-offered != c.omitted
	c.omitted = all - offered
	c.mu.Unlock()
	if news {
		c.notice("%d of %d tools of MCP servers are not offered to the model: the limit is %d; hint: select tools with includeTools of a server", all-offered, all, maxTools)
	}
}

// Connect connects to one server now, even if the server had failed too often before.
func (c *Client) Connect(ctx context.Context, name string) error {
	l, err := c.find(name)
	if err != nil {
		return err
	}
	l.resetBackoff()
	_, err = l.connection(ctx)
	return err
}

// resourceLinks returns the servers whose resources can be read.
func (c *Client) resourceLinks() []*serverLink {
	if c.o.Parent == nil {
		return c.links
	}
	return slices.Concat(c.links, c.o.Parent.links)
}

func (c *Client) find(name string) (*serverLink, error) {
	for _, l := range c.resourceLinks() {
		if l.server.Name == name {
			return l, nil
		}
	}
	return nil, &Error{Server: name, Detail: "unknown server"}
}

// EndProcesses kills all stdio servers and their child processes, including servers that are
// starting. It waits until they have ended. The next call of a tool starts its server again.
// Running calls fail with an error that contains why.
func (c *Client) EndProcesses(why error) {
	var all sync.WaitGroup
	for _, l := range c.links {
		all.Go(func() { l.endProcess(why) })
	}
	all.Wait()
}

// Close ends all connections and servers, and waits until they have ended.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	for _, l := range c.links {
		l.close()
	}
	c.goroutines.Wait()
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	return nil
}

var errClosed = errors.New("the MCP client is closed")

func (c *Client) notice(format string, args ...any) {
	text := shown(fmt.Sprintf(format, args...))
	c.o.Log.Info("mcp", "notice", text)
	if c.o.Notice != nil {
		c.o.Notice(text)
	}
}
