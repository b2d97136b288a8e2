package strategy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// decoder decodes a tree into a strategy. It keeps the first error.
type decoder struct {
	name   string
	source []byte
	file   func(path string) (string, error)
	err    error

	agents map[string]bool
	nodes  int
}

// fail records an error with its offset and with the path of keys that leads to it.
func (d *decoder) fail(at int, key, hint, format string, args ...any) {
	if d.err != nil {
		return
	}
	e := &Error{File: d.name, Key: key, Detail: fmt.Sprintf(format, args...), Do: hint}
	d.setPosition(e, at)
	d.err = e
}

// object is an object whose keys are being decoded.
type object struct {
	d    *decoder
	node *jsontree.Node
	key  string // path of keys
}

// object decodes a value as an object that may have only these keys. Each refused key has a reason.
func (d *decoder) object(n *jsontree.Node, key string, known []string, refused map[string]string) object {
	o := object{d: d, node: n, key: key}
	if n.Kind != jsontree.Object {
		d.fail(n.At, key, "", "must be an object, not %s", n.Show())
		return o
	}
	for _, m := range n.Members {
		if slices.Contains(known, m.Key) {
			continue
		}
		if reason := refused[m.Key]; reason != "" {
			d.fail(m.At, o.path(m.Key), "", "%s", reason)
			return o
		}
		d.fail(m.At, key, spelling.Hint(m.Key, known, "the keys are"), "unknown key %q", m.Key)
		return o
	}
	return o
}

func (o object) path(key string) string {
	if o.key == "" {
		return key
	}
	return o.key + "." + key
}

func (o object) member(key string) (*jsontree.Node, bool) {
	n := o.node.Member(key)
	return n, n != nil
}

// memberOf returns a member that must be of a kind, or nil if it is missing or of another kind.
func (o object) memberOf(key string, kind jsontree.Kind) *jsontree.Node {
	n, ok := o.member(key)
	if !ok {
		return nil
	}
	if n.Kind != kind {
		hint := ""
		if kind == jsontree.Text && (n.Kind == jsontree.Number || n.Kind == jsontree.Bool || n.Kind == jsontree.Null) {
			hint = "put it in quotes"
		}
		o.d.fail(n.At, o.path(key), hint, "must be %s, not %s", kind, n.Show())
		return nil
	}
	return n
}

func (o object) text(key string) string {
	n := o.memberOf(key, jsontree.Text)
	if n == nil {
		return ""
	}
	if strings.ContainsRune(n.Text, 0) {
		o.d.fail(n.At, o.path(key), "", "contains a NUL character")
	}
	return n.Text
}

// requiredText returns a required text, which must not be blank.
func (o object) requiredText(key, hint string) string {
	n, ok := o.member(key)
	if !ok {
		o.d.fail(o.node.At, o.key, hint, "%s is missing", key)
		return ""
	}
	s := o.text(key)
	if strings.TrimSpace(s) == "" {
		o.d.fail(n.At, o.path(key), hint, "is empty")
	}
	return s
}

// checkLine checks that a text is one line.
func (o object) checkLine(key string, s string) string {
	if n, ok := o.member(key); ok && (strings.ContainsAny(s, "\r\n") || len(s) > maxName) {
		o.d.fail(n.At, o.path(key), "", "must be one line of at most %d bytes", maxName)
	}
	return s
}

func (o object) bool(key string) bool {
	n := o.memberOf(key, jsontree.Bool)
	return n != nil && n.Text == "true"
}

// count returns a whole number of at least 1, or 0 if the value is missing.
func (o object) count(key string) int {
	n := o.memberOf(key, jsontree.Number)
	if n == nil {
		return 0
	}
	return o.number(key, n)
}

func (o object) number(key string, n *jsontree.Node) int {
	i, err := strconv.Atoi(n.Text)
	if err != nil || i < 1 || i > maxCount {
		o.d.fail(n.At, o.path(key), "", "must be a whole number from 1 to %d, not %s", maxCount, n.Text)
		return 0
	}
	return i
}

// textList returns a list of texts, which must be different and not blank. It returns nil if the
// list is missing.
func (o object) textList(key string) []string {
	n := o.memberOf(key, jsontree.List)
	if n == nil {
		return nil
	}
	list := []string{}
	for i := range n.Items {
		item, at := &n.Items[i], fmt.Sprintf("%s[%d]", o.path(key), i)
		switch {
		case item.Kind != jsontree.Text:
			o.d.fail(item.At, at, "put it in quotes", "must be a text, not %s", item.Show())
		case strings.TrimSpace(item.Text) == "":
			o.d.fail(item.At, at, "", "is empty")
		case slices.Contains(list, item.Text):
			o.d.fail(item.At, at, "keep one of them", "duplicate entry %q", item.Text)
		}
		list = append(list, item.Text)
	}
	return list
}

const (
	maxName   = 200
	maxCount  = 1_000_000
	maxAgents = 100
	maxSteps  = 500 // maximum for the whole flow, including nested flows
	maxNest   = 16
)

func (d *decoder) strategy(root *jsontree.Node) *Strategy {
	o := d.object(root, "", []string{"name", "version", "description", "agents", "flow"}, refusedStrategy)
	if d.err != nil {
		return nil
	}
	s := &Strategy{
		Name:        o.checkLine("name", o.requiredText("name", "a strategy needs name, version, agents and flow")),
		Version:     o.version(),
		Description: o.text("description"),
	}
	s.Agents = d.agentsOf(o)
	flow, ok := o.member("flow")
	if !ok {
		d.fail(root.At, "", "flow has the order of the agents: {sequential: {steps: [writer]}}", "flow is missing")
	}
	if d.err != nil {
		return nil
	}
	s.Flow.root = d.root(flow)
	if d.err == nil {
		d.rejectUnused(s, o)
	}
	return s
}

// version returns the version as text. A number is accepted and keeps its spelling, because
// "version: 1" is common.
func (o object) version() string {
	if n, ok := o.member("version"); ok && n.Kind == jsontree.Number {
		return n.Text
	}
	return o.checkLine("version", o.requiredText("version", `for example version: "1"`))
}

// rejectUnused rejects agents that the flow does not use, because either the flow or the agent's name is
// wrong.
func (d *decoder) rejectUnused(s *Strategy, o object) {
	used := s.Flow.Agents()
	agents, _ := o.member("agents")
	for _, m := range agents.Members {
		if !slices.Contains(used, m.Key) {
			d.fail(m.At, "agents."+m.Key, "add a step for it, or remove it", "the flow does not use this agent")
		}
	}
}
