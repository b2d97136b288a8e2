package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// The tools that read servers' resources.
const (
	ListResources = "ListMcpResources"
	ReadResource  = "ReadMcpResource"
)

type listInput struct {
	Server string `json:"server,omitempty" jsonschema:"Only resources of this server"`
}

type readInput struct {
	Server string `json:"server" jsonschema:"The server that has the resource"`
	URI    string `json:"uri" jsonschema:"The URI of the resource, as listed"`
}

// resourceTools returns these tools. It creates them when a server first has resources.
func (c *Client) resourceTools() []tool.Tool {
	c.resourcesOnce.Do(func() {
		list, err := tool.New(tool.Spec{
			Name: ListResources, Description: "Lists the resources of MCP servers with their URIs.",
		}, c.listResources, c.listRequests)
		if err != nil {
			return // the schema of a known type
		}
		read, err := tool.New(tool.Spec{
			Name: ReadResource, Description: "Reads a resource of an MCP server by its URI.",
		}, c.readResource, c.readRequests)
		if err != nil {
			return
		}
		c.readers = []tool.Tool{list, read}
	})
	return c.readers
}

func (l *serverLink) readRequest(name, resource string) policy.Request {
	r := ReadRequest(name, l.server.Name, resource)
	r.Confined = l.confined()
	return r
}

// ReadRequest returns the permission request of the tool [ListResources], with the resource "resources",
// or of [ReadResource]. A rule that denies the server also denies this request.
func ReadRequest(name, server, resource string) policy.Request {
	return policy.Request{Tool: name, Operation: policy.OpMCP, Resource: sanitizeName(server) + "/" + resource}
}

// confined reports whether the server is a sandboxed program.
func (l *serverLink) confined() bool { return l.c.o.Sandbox != nil && l.server.kind() == Stdio }

// withResources returns the servers to list.
func (c *Client) withResources(name string) ([]*serverLink, error) {
	var list []*serverLink
	for _, l := range c.resourceLinks() {
		l.mu.Lock()
		has := l.offer.resources && l.state != Closed
		l.mu.Unlock()
		if has && (name == "" || l.server.Name == name) {
			list = append(list, l)
		}
	}
	if len(list) == 0 && name != "" {
		return nil, fmt.Errorf("no MCP server %q with resources", truncate.String(name, 100))
	}
	return list, nil
}

func (c *Client) listRequests(_ *tool.Call, in listInput) ([]policy.Request, error) {
	links, err := c.withResources(in.Server)
	if err != nil {
		return nil, err
	}
	var list []policy.Request
	for _, l := range links {
		list = append(list, l.readRequest(ListResources, "resources"))
	}
	if len(list) == 0 {
		list = []policy.Request{{Tool: ListResources, Operation: policy.OpMCP, Resource: "resources"}}
	}
	return list, nil
}

func (c *Client) readRequests(_ *tool.Call, in readInput) ([]policy.Request, error) {
	links, err := c.withResources(in.Server)
	switch {
	case err != nil:
		return nil, err
	case in.Server == "":
		return nil, errors.New("server is empty")
	case in.URI == "" || len(in.URI) > 8192:
		return nil, errors.New("the URI is empty or too long")
	}
	return []policy.Request{links[0].readRequest(ReadResource, in.URI)}, nil
}

func (c *Client) listResources(ctx context.Context, call *tool.Call, in listInput) (tool.Result, error) {
	links, err := c.withResources(in.Server)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	p := &parts{}
	failed := 0
	for _, l := range links {
		text, err := l.resources(ctx, call)
		if err != nil {
			failed++
			text = shown(err.Error())
		}
		p.addText(fmt.Sprintf("%s:\n%s", l.server.Name, text))
	}
	p.close()
	return tool.Result{Content: p.list, IsError: failed > 0 && failed == len(links)}, nil
}

// resources lists the resources and resource templates of one server.
func (l *serverLink) resources(ctx context.Context, call *tool.Call) (string, error) {
	n, err := l.connection(ctx)
	if err != nil {
		return "", err
	}
	var lines []string
	_, err = n.runRequest(ctx, newRunningCall(call), func(ctx context.Context, _ string) (*sdk.CallToolResult, error) {
		lines = nil
		for r, err := range n.session.Resources(ctx, nil) {
			if err != nil {
				return nil, err
			}
			if r == nil || len(lines) == maxListed {
				break
			}
			lines = append(lines, "- "+describe(r.URI, r.Name, r.Title, r.MIMEType, r.Description))
		}
		for r, err := range n.session.ResourceTemplates(ctx, nil) {
			if err != nil || r == nil || len(lines) == maxListed {
				break // many servers have no templates and return an error
			}
			lines = append(lines, "- "+describe(r.URITemplate, r.Name, r.Title, r.MIMEType, r.Description)+" (replace the parts in braces)")
		}
		return &sdk.CallToolResult{}, nil
	})
	if err != nil {
		return "", l.server.wrapError("listing its resources failed", err)
	}
	if len(lines) == 0 {
		return "the server has no resources", nil
	}
	return strings.Join(lines, "\n"), nil
}

func describe(uri string, more ...string) string {
	list := []string{truncate.String(oneLine(uri), 1000)}
	for _, m := range more {
		if m != "" {
			list = append(list, truncate.String(oneLine(m), 500))
		}
	}
	return strings.Join(list, ", ")
}

func (c *Client) readResource(ctx context.Context, call *tool.Call, in readInput) (tool.Result, error) {
	l, err := c.find(in.Server)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	n, err := l.connection(ctx)
	if err != nil {
		return failure(err), nil
	}
	var read *sdk.ReadResourceResult
	_, err = n.runRequest(ctx, newRunningCall(call), func(ctx context.Context, token string) (*sdk.CallToolResult, error) {
		p := &sdk.ReadResourceParams{URI: in.URI}
		p.SetProgressToken(token)
		var err error
		read, err = n.session.ReadResource(ctx, p)
		return nil, err
	})
	if err != nil {
		return n.failureResult(ctx, "reading "+truncate.String(oneLine(in.URI), 200), err), nil
	}
	p := &parts{}
	for _, r := range read.Contents {
		p.addResource(r)
	}
	p.close()
	return tool.Result{Content: p.list}, nil
}
