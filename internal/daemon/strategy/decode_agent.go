package strategy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// These are keys of old or new CommaAgents strategies that Holdfast does not support.
var (
	refusedStrategy = map[string]string{
		"mcpServers": "a strategy cannot define MCP servers, because settings must allow these programs",
		"defaults":   "not supported: write the values for each agent (YAML anchors help)",
	}
	refusedAgent = map[string]string{
		"systemPromptTemplate": "templates are not supported, because they read the environment and run shell commands without approval; write the prompt itself as systemPrompt",
		"mcpServers":           "an agent uses the MCP servers of the settings: select tools with the key tools",
		"skills":               "a strategy cannot load skills: write the instructions into systemPrompt",
		"providerOptions":      "options of a provider cannot be set in a strategy",
		"modelOptions":         "options of a model cannot be set in a strategy",
		"temperature":          "options of a model cannot be set in a strategy",
		"topProbability":       "options of a model cannot be set in a strategy",
		"outputSchema":         "a schema is not supported, because answers are text",
		"context":              "the context is the agent's session, and the daemon's settings control its compaction",
		"useDefaults":          "not supported: write the values for each agent (YAML anchors help)",
	}
	refusedFlow = map[string]string{
		"config": "unsupported flow; use sequential, cycle or broadcast",
	}
)

var agentKeys = map[Type][]string{
	LLM:     {"type", "description", "model", "systemPrompt", "tools", "maxSteps"},
	Command: {"type", "description", "command", "stdin"},
	User:    {"type", "description", "prompt", "config"},
}

func (d *decoder) agentsOf(o object) []Agent {
	n := o.memberOf("agents", jsontree.Object)
	d.agents = map[string]bool{}
	switch {
	case n == nil:
		d.fail(o.node.At, "", "agents: {writer: {model: anthropic/claude-sonnet-4-6}}", "agents is missing")
		return nil
	case len(n.Members) == 0:
		d.fail(n.At, "agents", "", "agents is empty")
	case len(n.Members) > maxAgents:
		d.fail(n.At, "agents", "", "at most %d agents are allowed", maxAgents)
		return nil
	}
	var agents []Agent
	for i := range n.Members {
		m := &n.Members[i]
		if !validName(m.Key) {
			d.fail(m.At, "agents", "use at most 40 of a-z, 0-9, _ and -, beginning with a letter or a digit", "invalid agent name %q", clip(m.Key))
		}
		d.agents[m.Key] = true
		agents = append(agents, d.agent(m.Key, &m.Value))
	}
	return agents
}

func clip(s string) string { return fmt.Sprintf("%.60s", s) }

func validName(s string) bool {
	if s == "" || len(s) > 40 || s[0] == '-' || s[0] == '_' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

func (d *decoder) agent(name string, n *jsontree.Node) Agent {
	key := "agents." + name
	a := Agent{Name: name, Type: d.agentType(n, key)}
	if d.err != nil {
		return a
	}
	d.rejectOtherKeys(n, key, a.Type)
	o := d.object(n, key, agentKeys[a.Type], refusedAgent)
	a.Description = o.text("description")
	switch a.Type {
	case LLM:
		a.Model, a.SystemPrompt, a.MaxSteps = o.model(), o.prompt(), o.count("maxSteps")
		a.Tools = o.textList("tools")
	case Command:
		a.Command = o.requiredText("command", "for example command: go test ./...")
		a.Stdin = o.bool("stdin")
	case User:
		a.Prompt = o.text("prompt")
		o.userConfig()
	}
	return a
}

func (d *decoder) agentType(n *jsontree.Node, key string) Type {
	if n.Kind != jsontree.Object {
		d.fail(n.At, key, "", "must be an object, not %s", n.Show())
		return ""
	}
	t := (object{d: d, node: n, key: key}).memberOf("type", jsontree.Text)
	if t == nil {
		return LLM
	}
	switch t.Text {
	case "model":
		return LLM
	case string(User), string(LLM), string(Command):
		return Type(t.Text)
	}
	d.fail(t.At, key+".type", "", "%q is not one of user, llm, command", clip(t.Text))
	return ""
}

// rejectOtherKeys rejects the keys that belong to other types of agents.
func (d *decoder) rejectOtherKeys(n *jsontree.Node, key string, typ Type) {
	for _, m := range n.Members {
		if slices.Contains(agentKeys[typ], m.Key) {
			continue
		}
		for _, other := range []Type{User, LLM, Command} {
			if slices.Contains(agentKeys[other], m.Key) {
				d.fail(m.At, key+"."+m.Key, "set type: "+string(other)+", or remove the key", "only agents of type %s have this key; this one is %s", other, typ)
				return
			}
		}
	}
}

// model returns PROVIDER/MODEL, or "".
func (o object) model() string {
	n := o.memberOf("model", jsontree.Text)
	if n == nil {
		return ""
	}
	provider, name, ok := strings.Cut(n.Text, "/")
	if !ok || provider == "" || name == "" || strings.TrimSpace(n.Text) != n.Text {
		o.d.fail(n.At, o.path("model"), "for example anthropic/claude-sonnet-4-6", "%q does not name a provider and a model", clip(n.Text))
	}
	return n.Text
}

// prompt returns the system prompt. The value is the prompt itself, or the name of a file that
// contains it.
func (o object) prompt() string {
	s := o.text("systemPrompt")
	if !isFile(s) {
		return s
	}
	n, _ := o.member("systemPrompt")
	at := o.path("systemPrompt")
	text, err := o.d.file(s)
	switch {
	case err != nil:
		o.d.fail(n.At, at, "the path is relative to the strategy's folder, and must be inside it", "cannot read the prompt: %v", err)
	case strings.TrimSpace(text) == "":
		o.d.fail(n.At, at, "", "%s is empty", s)
	case isFile(text):
		o.d.fail(n.At, at, "", "%s refers to another file", s)
	case strings.ToValidUTF8(text, "") != text || strings.ContainsRune(text, 0):
		o.d.fail(n.At, at, "save the file as UTF-8", "%s is not text", s)
	}
	return text
}

// isFile reports whether a system prompt is a file name: one word that ends in .md or .txt.
func isFile(s string) bool {
	s = strings.TrimSpace(s)
	return !strings.ContainsAny(s, " \t\r\n") && (strings.HasSuffix(s, ".md") || strings.HasSuffix(s, ".txt"))
}

// userConfig accepts the keys of CommaAgents' config that have no effect in Holdfast, and rejects
// all other keys.
func (o object) userConfig() {
	n := o.memberOf("config", jsontree.Object)
	if n == nil {
		return
	}
	c := o.d.object(n, o.path("config"), []string{"requireInput"}, map[string]string{
		"presetMessage": "the text of a user agent comes from the user; give text known in advance as the run's input",
	})
	if v := c.memberOf("requireInput", jsontree.Bool); v != nil && v.Text != "true" {
		o.d.fail(v.At, c.path("requireInput"), "remove the agent from the flow", "a user agent always waits for the user")
	}
}
