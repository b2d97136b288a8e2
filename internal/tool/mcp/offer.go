package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/tool"
)

// Limits for the tools of one server.
const (
	maxOffered     = 256       // tools
	maxPages       = 64        // pages of one list
	maxSchema      = 64 << 10  // bytes of one input schema
	maxDescription = 16 << 10  // bytes of one description; longer ones are truncated
	maxOffer       = 512 << 10 // bytes of all descriptions and schemas of a server
	maxToolName    = 128       // bytes, with the prefix
	maxSkipped     = 50        // skipped tools that are reported
)

// serverOffer is what a server offers.
type serverOffer struct {
	tools       []*remoteTool // by name
	skipped     []string      // skipped tools with reasons
	moreSkipped int           // number of further skipped tools
	changes     []string      // changes in tools that were known before
	resources   bool
	prompts     bool
}

// interactive marks a tool that requires user interaction.
const interactive = "anthropic/requiresUserInteraction"

// offer asks the server for its tools and resources.
func (n *conn) offer(ctx context.Context, before serverOffer) (serverOffer, error) {
	o := serverOffer{}
	caps := &sdk.ServerCapabilities{}
	if r := n.session.InitializeResult(); r != nil && r.Capabilities != nil {
		caps = r.Capabilities
	}
	o.resources, o.prompts = caps.Resources != nil, caps.Prompts != nil
	if caps.Tools == nil {
		return o, nil
	}
	var list []*sdk.Tool
	cursor, seen := "", map[string]bool{}
	for page := 0; ; page++ {
		r, err := n.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return o, err
		}
		list = append(list, r.Tools...)
		cursor = r.NextCursor
		if cursor == "" {
			break
		}
		if page+1 == maxPages || seen[cursor] || len(list) > maxOffered {
			o.skipped = append(o.skipped, fmt.Sprintf("its list of tools is longer than %d tools or %d pages, or does not end: the rest is skipped", maxOffered, maxPages))
			break
		}
		seen[cursor] = true
	}
	n.addOffered(&o, list)
	o.recordChanges(before)
	return o, nil
}

// addOffered converts the tools that a server lists.
func (n *conn) addOffered(o *serverOffer, list []*sdk.Tool) {
	have, size := map[string]string{}, 0
	refuse := func(name, why string) {
		if len(o.skipped) >= maxSkipped {
			o.moreSkipped++
			return
		}
		o.skipped = append(o.skipped, fmt.Sprintf("its tool %q is skipped: %s", truncate.String(shown(name), 100), why))
	}
	for _, t := range list {
		if t == nil || n.server.Tools != nil && !slices.Contains(n.server.Tools, t.Name) {
			continue
		}
		made, err := n.l.newTool(t)
		if err != nil {
			refuse(t.Name, err.Error())
			continue
		}
		name := made.spec.Name
		switch other, twice := have[name]; {
		case twice && other == t.Name:
			refuse(t.Name, "duplicate name; the first tool is used")
		case twice:
			refuse(t.Name, fmt.Sprintf("its name %s is also the name of the tool %q", name, truncate.String(shown(other), 100)))
		case len(o.tools) == maxOffered:
			refuse(t.Name, fmt.Sprintf("the server has more than %d tools", maxOffered))
		case size+made.size() > maxOffer:
			refuse(t.Name, fmt.Sprintf("the descriptions and schemas of the server's tools are larger than %d KiB in total", maxOffer>>10))
		default:
			have[name] = t.Name
			size += made.size()
			o.tools = append(o.tools, made)
		}
	}
	if o.moreSkipped > 0 {
		o.skipped = append(o.skipped, fmt.Sprintf("%d more tools are skipped", o.moreSkipped))
	}
	slices.SortFunc(o.tools, func(a, b *remoteTool) int { return cmp.Compare(a.spec.Name, b.spec.Name) })
}

// recordChanges records changes in tools that were known before.
func (o *serverOffer) recordChanges(before serverOffer) {
	old := map[string]string{}
	for _, t := range before.tools {
		old[t.spec.Name] = t.digest
	}
	for _, t := range o.tools {
		if digest, known := old[t.spec.Name]; known && digest != t.digest {
			o.changes = append(o.changes, fmt.Sprintf("the description of its tool %s has changed", t.spec.Name))
		}
	}
	slices.Sort(o.skipped)
}

// newTool converts one listed tool. The error is the reason why the tool is skipped.
func (l *serverLink) newTool(t *sdk.Tool) (*remoteTool, error) {
	spec := tool.Spec{Name: l.server.prefix() + sanitizeName(t.Name)}
	switch {
	case t.Name == "":
		return nil, errors.New("the name is missing")
	case len(spec.Name) > maxToolName:
		return nil, fmt.Errorf("the name with the server's name has %d bytes; at most %d are allowed", len(spec.Name), maxToolName)
	}
	var err error
	if spec.Input, err = inputSchema(t.InputSchema); err != nil {
		return nil, err
	}
	spec.Description = truncate.String(strings.ToValidUTF8(t.Description, "\uFFFD"), maxDescription)
	made := &remoteTool{l: l, spec: spec, name: t.Name, title: truncate.String(shown(t.Title), 200)}
	if a := t.Annotations; a != nil {
		made.title = cmp.Or(made.title, truncate.String(shown(a.Title), 200))
		made.hints = hintsOf(a)
	}
	made.person, _ = t.Meta[interactive].(bool)
	made.digest = digestOf(t.Name, spec.Description, string(spec.Input), strings.Join(made.hints, ","), fmt.Sprint(made.person))
	return made, nil
}

// hintsOf returns a server's annotations of a tool, for the user.
func hintsOf(a *sdk.ToolAnnotations) (list []string) {
	if a.ReadOnlyHint {
		list = append(list, "read-only")
	} else if a.DestructiveHint != nil && *a.DestructiveHint {
		list = append(list, "destructive")
	}
	if a.IdempotentHint {
		list = append(list, "idempotent")
	}
	if a.OpenWorldHint != nil && *a.OpenWorldHint {
		list = append(list, "open world")
	}
	return list
}

// inputSchema returns a server's schema unchanged for the model. The schema must be an object.
func inputSchema(schema any) (json.RawMessage, error) {
	object, ok := schema.(map[string]any)
	if schema != nil && !ok {
		return nil, errors.New("its input schema is not an object")
	}
	if object == nil {
		object = map[string]any{}
	}
	switch object["type"] {
	case "object":
	case nil:
		filled := map[string]any{"type": "object"}
		for k, v := range object {
			if k != "type" {
				filled[k] = v
			}
		}
		object = filled
	default:
		return nil, errors.New("its input is not an object")
	}
	raw, err := json.Marshal(object)
	switch {
	case err != nil:
		return nil, errors.New("its input schema is invalid")
	case len(raw) > maxSchema:
		return nil, fmt.Errorf("its input schema has %d bytes; at most %d are allowed", len(raw), maxSchema)
	}
	return raw, nil
}

func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// offered returns the tools of a server that has not failed permanently. It also reports whether
// the server has resources.
func (l *serverLink) offered() ([]*remoteTool, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == Closed || l.state == NeedsAuth || l.conn == nil && l.failures >= maxFailures {
		return nil, false
	}
	return l.offer.tools, l.offer.resources
}

// find finds a tool in the server's current list.
func (l *serverLink) find(name string) *remoteTool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.offer.tools, func(t *remoteTool) bool { return t.spec.Name == name })
	if i < 0 {
		return nil
	}
	return l.offer.tools[i]
}

// markStale records that the server's list has changed.
func (n *conn) markStale() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stale = true
	if n.listing == nil {
		n.listing = make(chan struct{})
	}
}

// Delays for requesting a changed list.
const (
	listTime   = 20 * time.Second       // for a response
	listPause  = 200 * time.Millisecond // pause between two requests; it doubles each time the list has changed again
	listWindow = 30 * time.Second       // maximum delay
	listWait   = 2 * time.Second        // maximum time that the result of a call waits for a list that was announced before the result
)

// relist requests the list again in the background, and reports it if it has changed.
func (n *conn) relist() {
	n.mu.Lock()
	run := n.stale && !n.relisting
	if run {
		n.relisting = true
	}
	n.mu.Unlock()
	if run && !n.l.c.spawn(n.relistAll) {
		n.wakeListWaiters()
	}
}

func (n *conn) relistAll() {
	for pause := listPause; ; pause = min(2*pause, listWindow) {
		n.mu.Lock()
		if !n.stale {
			n.relisting = false
			n.mu.Unlock()
			return
		}
		n.stale = false
		n.mu.Unlock()
		n.relistOnce()
		n.wakeListWaiters()
		select {
		case <-time.After(pause):
		case <-n.ctx.Done():
			return
		}
	}
}

func (n *conn) relistOnce() {
	n.l.awaitAttempt(n.ctx) // if the list changed while the connection was set up, wait for its first list
	ctx, cancel := context.WithTimeout(n.ctx, listTime)
	defer cancel()
	n.l.mu.Lock()
	before := n.l.offer
	n.l.mu.Unlock()
	o, err := n.offer(ctx, before)
	if err != nil {
		if n.ctx.Err() == nil {
			n.l.c.notice("MCP server %q: its tools have changed, and listing them failed: %v", n.server.Name, err)
		}
		return
	}
	n.l.mu.Lock()
	current := n.l.conn == n
	if current {
		n.l.offer = o
	}
	n.l.mu.Unlock()
	if current {
		n.l.reportOffer(o)
		n.l.c.changed()
	}
}

// wakeListWaiters wakes the calls that wait for the list, unless the list has changed again.
func (n *conn) wakeListWaiters() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listing != nil && !n.stale {
		close(n.listing)
		n.listing = nil
	}
}

// awaitList waits, for a limited time, until a changed list is in effect.
func (n *conn) awaitList(ctx context.Context) {
	n.mu.Lock()
	listing := n.listing
	n.mu.Unlock()
	if listing == nil {
		return
	}
	t := time.NewTimer(listWait)
	defer t.Stop()
	select {
	case <-listing:
	case <-t.C:
	case <-ctx.Done():
	case <-n.ctx.Done():
	}
}
