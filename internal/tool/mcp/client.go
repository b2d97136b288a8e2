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

// Options adjust [Open].
type Options struct {
	// Sandbox holds stdio servers to its settings; nil: nothing does. It stays the
	// caller's to close, after the client.
	Sandbox *sandbox.Sandbox
	// Egress is what connections over HTTP go through; nil: nothing restricts them.
	Egress *egress.Proxy

	// Dir is where stdio servers start; default the current folder.
	Dir string
	// Environ is the environment of whom servers work for; nil is our own. Stdio servers
	// get what [environ.ForCommands] picks of it, and ${VAR} is looked up in it.
	Environ []string

	// Tokens is the folder that OAuth tokens are kept in, made with mode 0700. Empty:
	// none are.
	Tokens string

	// Elicit asks a person what a server wants to know while it runs a call. Nil: servers
	// are told that nobody can be asked.
	Elicit func(ctx context.Context, e Elicitation) (Answer, error)
	// FireHook tells hooks of Elicitation and ElicitationResult. Nil: there are none.
	FireHook func(ctx context.Context, in hook.Input) (hook.Outcome, error)
	// Notice tells the person what has happened to a server; it may be called from any
	// goroutine and should not block.
	Notice func(text string)
	// Log gets what is of use to find a fault. No token and no content is in it.
	Log *slog.Logger

	// Wait is how long [Client.Tools] waits for servers that still connect; 3 seconds.
	Wait time.Duration
	// Parent is a client whose servers' resources can be read with the tools of this one, too:
	// that of the run, for servers of a sub-agent. It is closed later; nil: there is none.
	Parent *Client
	// Name and Version are what servers are told of us; "holdfast".
	Name, Version string
	// TLS is for connections; nil is the usual.
	TLS *tls.Config
}

// Client is connected to the servers of a session. It is safe for concurrent use.
type Client struct {
	o     Options
	links []*serverLink // by prefix

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	goes sync.WaitGroup

	start    sync.Once
	httpOnce sync.Once
	http     *http.Transport

	resources sync.Once
	readers   []tool.Tool // that read resources

	announcing sync.Mutex // held while the list is told
	mu         sync.Mutex
	onChange   func([]tool.Tool)
	lastTools  string // identifies the list that was told last
	left       int    // tools that it does not have because there are too many
	stores     map[string]*tokenStore
	closed     bool
}

// Open makes a client of servers that a person has approved. It does no I/O: servers
// are connected to by [Client.Start], or when something needs them. The error is an
// *[Error] about one server. The caller closes the client.
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

// Start connects to all servers, side by side and in the background. It returns at once;
// a second call does nothing.
func (c *Client) Start() {
	c.start.Do(func() {
		for _, l := range c.links {
			l.begin()
		}
	})
}

// Tools returns the tools of the servers that are connected, in an order that stays the
// same, and with them two that read resources when a server has any. Servers that still
// connect are waited for until ctx ends, and at most [Options].Wait.
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

// ToolsForSubagent is [Client.Tools] for somebody who is not who [Client.OnChange] tells, such as a
// sub-agent: that one is told of them all the same.
func (c *Client) ToolsForSubagent(ctx context.Context) []tool.Tool {
	c.settle(ctx)
	list, _ := c.list()
	return list
}

// settle waits for servers that still connect.
func (c *Client) settle(ctx context.Context) {
	c.Start()
	ctx, cancel := context.WithTimeout(ctx, c.o.Wait)
	defer cancel()
	for _, l := range c.links {
		l.settled(ctx)
	}
}

// OnChange has f called with the whole list whenever it is another one than the last
// that was told, by [Client.Tools] or f: a server has connected late, was given up, or
// has changed what it offers. Calls of f do not overlap; f must not call Tools.
func (c *Client) OnChange(f func([]tool.Tool)) {
	c.mu.Lock()
	c.onChange = f
	c.mu.Unlock()
	c.spawn(c.changed) // since the list was told
}

// changed tells the list when it is another one.
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

// maxTools bounds the tools of all servers together.
const maxTools = 512

// list is the tools that there are, and what identifies them.
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

// tooMany tells how many of all tools are not among those that are offered, when it is
// another number than before.
func (c *Client) tooMany(offered, all int) {
	c.mu.Lock()
	news := all-offered > 0 && all-offered != c.left
	c.left = all - offered
	c.mu.Unlock()
	if news {
		c.notice("%d of %d tools of MCP servers are not offered to the model: the limit is %d; hint: select tools with includeTools of a server", all-offered, all, maxTools)
	}
}

// Connect connects to one server now, also when it was given up before.
func (c *Client) Connect(ctx context.Context, name string) error {
	l, err := c.find(name)
	if err != nil {
		return err
	}
	l.resetBackoff()
	_, err = l.connection(ctx)
	return err
}

// all are the links whose resources can be read.
func (c *Client) all() []*serverLink {
	if c.o.Parent == nil {
		return c.links
	}
	return slices.Concat(c.links, c.o.Parent.links)
}

func (c *Client) find(name string) (*serverLink, error) {
	for _, l := range c.all() {
		if l.server.Name == name {
			return l, nil
		}
	}
	return nil, &Error{Server: name, Detail: "unknown server"}
}

// EndProcesses kills the servers that are processes of ours, also those that are being
// started, with all that they have started, and waits until the servers have ended. The next
// call of a tool starts its server again.
// why is what calls under way are told.
func (c *Client) EndProcesses(why error) {
	var all sync.WaitGroup
	for _, l := range c.links {
		all.Go(func() { l.endProcess(why) })
	}
	all.Wait()
}

// Close ends all connections and servers and waits for them.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	for _, l := range c.links {
		l.close()
	}
	c.goes.Wait()
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
