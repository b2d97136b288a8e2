package cli

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/tool"
)

// agentFlags say what an agent is made of: the flags of run, or what a client of the
// daemon asks for.
type agentFlags struct {
	Model         string `short:"m" placeholder:"PROVIDER/MODEL" group:"model" help:"anthropic/…, openai/…, ollama/… or scripted/PATH; default $$HOLDFAST_MODEL."`
	FallbackModel string `placeholder:"PROVIDER/MODEL" group:"model" help:"Answers for the rest of a turn when the model stays unavailable."`
	BaseURL       string `name:"base-url" placeholder:"URL" group:"model" help:"The provider's address; default ANTHROPIC_BASE_URL or OPENAI_BASE_URL."`
	MaxTokens     int    `placeholder:"N" group:"model" help:"Bound of one answer, in tokens."`
	Effort        string `placeholder:"LEVEL" enum:",low,medium,high" default:"" group:"model" help:"How much to think: low, medium or high."`

	CWD         string   `name:"cwd" placeholder:"FOLDER" group:"work" help:"Work in this folder; default the current one."`
	Init        bool     `xor:"setup" group:"work" help:"Tell Setup hooks to prepare the folder, first."`
	Maintenance bool     `xor:"setup" group:"work" help:"Tell Setup hooks to tidy up, first."`
	Agents      string   `placeholder:"JSON" group:"work" help:"Kinds of sub-agents by name, stronger than those of files."`
	AddDir      []string `sep:"none" placeholder:"FOLDER" group:"work" help:"Another folder that the tools may touch; may be repeated."`

	EnvFrom []string `sep:"none" placeholder:"NAME=REF" group:"work" help:"Get this variable from env:NAME, keyring:SERVICE/USER or command:PROGRAM when the run starts, also after a restart of the daemon; may be repeated."`

	SystemPrompt           string `placeholder:"TEXT" group:"prompt" help:"Replace the system prompt."`
	SystemPromptFile       string `placeholder:"FILE" group:"prompt" help:"Replace the system prompt by a file's text."`
	AppendSystemPrompt     string `placeholder:"TEXT" group:"prompt" help:"Add to the system prompt."`
	AppendSystemPromptFile string `placeholder:"FILE" group:"prompt" help:"Add a file's text to the system prompt."`

	NoContextFiles bool `name:"no-context-files" group:"prompt" help:"Read no AGENTS.md and no CLAUDE.md, but those of the administrator."`

	mcpConfigFlags
	permissionFlags
	NoHooks   bool `name:"no-hooks" group:"permission" help:"Run no hooks. Refused where the administrator's settings have some."`
	NoSandbox bool `name:"no-sandbox" group:"permission" help:"Run commands without the kernel sandbox. Refused where the administrator's settings want it."`

	compactFlags
	MaxTurns     int     `placeholder:"N" group:"limit" help:"Bound of model calls, and of those of each sub-agent."`
	MaxBudgetUSD float64 `name:"max-budget-usd" placeholder:"USD" group:"limit" help:"Bound of what the session may cost in all, with its sub-agents. It stays with the session: inf lifts it."`

	// OnlyTools, when not nil, are all the tools that there are. No flag says it.
	OnlyTools []string `kong:"-"`

	// Of an agent whose host is elsewhere: its models instead of what Model names, the
	// settings that it has read, and that a container holds all of us.
	model, fallback model.Model
	given           *settings.Given
	contained       bool
	shellless       bool // there is no shell, and so no Bash
	waits           bool // nothing goes on in the background
}

// parts are what an agent is made of.
//
//	flags ─► models, settings ─► toolbox (sandbox, hooks, tools) ─► options ─► agent.New ─► attach
type parts struct {
	models  *runModels
	rules   *settings.Settings
	box     *toolbox
	options agent.Options // without a session, and without anybody to ask
	attach  func(*agent.Agent)
	told    func() // sends what telemetry still has
}

// make makes an agent's parts. The caller closes them, after the agent. With loud
// what the sandbox cannot do is told.
func (c *agentFlags) make(ctx context.Context, p *Program, cwd string, loud bool) (m *parts, err error) {
	m = &parts{}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	system, err := c.system(p, cwd)
	if err != nil {
		return m, err
	}
	if m.rules, err = c.settings(p, cwd); err != nil {
		return m, err
	}
	if m.models, err = c.models(p, m.rules); err != nil {
		return m, err
	}
	if m.box, err = c.toolbox(p, cwd, m.rules, loud); err != nil {
		return m, err
	}
	if err = m.box.connect(ctx); err != nil {
		return m, err
	}
	if err = c.checkHooks(m.rules); err != nil {
		return m, err
	}
	mask, err := m.rules.Masker()
	if err != nil {
		return m, err
	}
	compact, err := c.compaction(p, m.rules)
	if err != nil {
		return m, err
	}
	held, profile := m.box.held.status()
	m.options = agent.Options{
		System: system, Fallback: m.models.fallback, MaxTokens: c.MaxTokens, Effort: c.Effort,
		Permissions: m.box.permissions, UsualMode: m.rules.Mode.Origin.Layer != policy.LayerFlag, Tools: m.box.registry, Background: m.box.background, Subagents: m.box.subagents(), AskTimeout: m.rules.AskTimeout.Value,
		Sandbox: held, Profile: profile,
		Setup: c.setup(), Mask: mask,
		MaxTurns: c.MaxTurns, MaxBudgetUSD: c.MaxBudgetUSD, Clock: p.Now, Compact: compact,
		Retry: retries(m.rules),
	}
	if m.box.telemeter, m.told, err = p.telemetry(ctx, &m.options); err != nil {
		return m, err
	}
	m.options.Instructions, m.options.Expand = m.box.told(), m.box.expand
	m.options.LoopObservers = append(m.options.LoopObservers, m.box)
	m.options.Return, m.options.LeaseLost = m.box.goBack, m.box.endServers
	m.box.watchFiles(&m.options)
	attachHooks := m.box.hooks.attach(&m.options)
	m.attach = func(a *agent.Agent) {
		m.box.host.attach(a)
		m.box.follow(a)
		attachHooks(a)
	}
	return m, nil
}

// retries is how failed model calls are repeated.
func retries(s *settings.Settings) agent.Retry {
	r := agent.Retry{After: s.Models.MaxRetryAfter.Value}
	if n := s.Models.Retries.Value; n != nil {
		r.Max = *n
		if r.Max == 0 {
			r.Max = -1 // none
		}
	}
	return r
}

func (m *parts) close() {
	if m.told != nil {
		m.told()
	}
	if m.box != nil {
		m.box.close()
	}
}

// only leaves the tools that are wanted; each of them must be there.
func (c *agentFlags) only(all *tool.Registry) (*tool.Registry, error) {
	if c.shellless {
		all = all.Without("Bash")
	}
	if c.OnlyTools == nil {
		return all, nil
	}
	keep, gone := map[string]bool{}, []string{}
	for _, name := range c.OnlyTools {
		if _, ok := all.Lookup(name); !ok && !isMCPTool(name) { // a server's may come later
			return nil, usage("there is no tool "+name, "the tools are "+strings.Join(toolNames(all), ", "))
		}
		keep[name] = true
	}
	for _, name := range toolNames(all) {
		if !keep[name] {
			gone = append(gone, name)
		}
	}
	return all.Without(gone...), nil
}

func toolNames(all *tool.Registry) []string {
	names := []string{}
	for _, s := range all.Specs() {
		names = append(names, s.Name)
	}
	return names
}
