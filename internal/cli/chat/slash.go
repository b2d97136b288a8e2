package chat

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
	"github.com/holdfast-dev/holdfast/policy"
)

// slashCommand is a command of the conversation, such as /model.
type slashCommand struct {
	name, args, help string
	run              func(u *ui, args string)
}

// slashCommands returns the commands in the order of /help.
func slashCommands() []slashCommand {
	return []slashCommand{
		{"help", "", "commands and keys", (*ui).help},
		{"model", "[NAME]", "choose the model", (*ui).chooseModel},
		{"mode", "[MODE]", "choose the permission mode", (*ui).chooseMode},
		{"permissions", "", "show the rules and what you allowed in this session", func(u *ui, _ string) {
			calls := [][]string{append([]string{"policy", "show", "--permission-mode=" + string(u.currentMode())}, u.s.Flags("settings")...)}
			if id := u.s.ID(); id != "" {
				calls = append(calls, []string{"policy", "grants", id})
			}
			u.show("permissions", calls...)
		}},
		{"compact", "", "replace the older part of the conversation by a summary", (*ui).compact},
		{"context", "", "show what fills the context window", (*ui).showContext},
		{"cost", "", "show what this session and this day cost", (*ui).showCost},
		{"resume", "[ID|TITLE]", "continue another session", (*ui).resume},
		{"continue", "", "continue a run that was interrupted", func(u *ui, _ string) {
			u.try("continue", func(ctx context.Context) error { return u.s.Resume(ctx) })
		}},
		{"fork", "", "continue in a copy of this session", (*ui).fork},
		{"rewind", "", "go back to an earlier message, with or without the files", func(u *ui, _ string) { u.openRewind() }},
		{"rename", "TITLE", "give the session a title", (*ui).rename},
		{"search", "WORDS", "search in all sessions", (*ui).search},
		{"export", "[FORMAT] [FILE]", "show the session, or write it to a file; FORMAT is markdown, html, text, jsonl, claude or codex", (*ui).export},
		{"tasks", "", "show the agent's task list and the commands in the background", (*ui).showTasks},
		{"agents", "", "show the sub-agents, also those that have ended; open one, send it a message or stop it", (*ui).openAgents},
		{"tell", "AGENT TEXT", "send a message to one sub-agent only; it reads it before its next step", (*ui).tell},
		{"status", "", "show the model, the mode, the context that is left, the cost and the sandbox", (*ui).showStatus},
		{"queue", "", "show the messages that the agent has not read, and take one back", (*ui).openQueue},
		{"transcript", "", "open everything: whole output, thinking, sub-agents", (*ui).openTurn},
		{"mcp", "", "show the MCP servers", func(u *ui, _ string) {
			u.show("MCP servers", append([]string{"mcp", "list"}, u.s.Flags("mcp-config", "strict-mcp-config")...))
		}},
		{"hooks", "", "show the hooks", func(u *ui, _ string) {
			u.show("hooks", append([]string{"hooks", "list"}, u.s.Flags("settings")...))
		}},
		{"skills", "", "show the skills and commands of the project", func(u *ui, _ string) { u.show("skills", []string{"skills", "list"}) }},
		{"plugins", "", "show the plugins, and what is in them", func(u *ui, _ string) { u.show("plugins", u.pluginsCommand()) }},
		{"memory", "", "list the instruction files that the model reads, and open one in $EDITOR; #text adds to one", (*ui).openMemory},
		{"plan", "[PROMPT]", "plan first: the agent changes nothing until you allow the plan", (*ui).plan},
		{"review", "[WHAT]", "ask for a review of the uncommitted changes, or of WHAT", (*ui).review},
		{"init", "", "let the agent write AGENTS.md for this project", func(u *ui, _ string) { u.send(initPrompt) }},
		{"doctor", "", "check the installation", func(u *ui, _ string) { u.show("doctor", []string{"doctor"}) }},
		{"notices", "", "show what has no effect in the settings and files", (*ui).openNotices},
		{"login", "[PROVIDER]", "store the key of a model provider", (*ui).login},
		{"theme", "[auto|light|dark|plain]", "choose the colors", (*ui).theme},
		{"fullscreen", "", "use the whole screen, or the normal one again", (*ui).toggleFullscreen},
		{"mouse", "", "let the wheel scroll the whole screen and pages, or leave the mouse to the terminal", (*ui).toggleMouse},
		{"vim", "", "use the keys of vi in the box, or those of readline again", (*ui).vim},
		{"diff", "", "show the changes that are not committed", (*ui).showChanges},
		{"copy", "", "copy the newest answer, if the terminal lets programs do so", (*ui).copyAnswer},
		{"stop", "[AGENT]", "end the run, or stop one sub-agent", (*ui).stop},
		{"clear", "", "begin a new session", (*ui).clear},
		{"quit", "", "leave; a working agent continues in the daemon", func(u *ui, _ string) { u.leave() }},
	}
}

// early reports whether a command needs no session.
func (c *slashCommand) early() bool {
	return slices.Contains([]string{"help", "doctor", "theme", "quit"}, c.name)
}

const noSession = "there is no session yet; send a message first"

// needsSession reports whether a command needs a session that has a message.
func (c *slashCommand) needsSession() bool {
	return slices.Contains([]string{"continue", "fork", "rewind", "rename", "compact", "export", "stop"}, c.name)
}

// runEarly does what was typed before the session was open or entered.
func (u *ui) runEarly() {
	list := u.early
	u.early = nil
	for _, text := range list {
		u.perform(text, func() {})
	}
}

const initPrompt = "Look at this project and write a file AGENTS.md in its root for coding agents that will work here: how to build, test and " +
	"lint it (also a single test), the structure that is not obvious from the names of the files, and the rules of its code. If the file exists, " +
	"improve it. Keep it short: at most 100 lines. Do not invent anything."

const reviewPrompt = "Review %s. Look for mistakes first, then for missing tests and for what is hard to understand. For each point name the file and line, say what goes wrong and how to fix it. Change nothing."

// slash runs a command, and before it calls remember. It reports false for a command of the project, which the agent expands.
func (u *ui) slash(text string, remember func()) bool {
	name, args, _ := strings.Cut(text[1:], " ")
	all := slashCommands()
	i := slices.IndexFunc(all, func(c slashCommand) bool { return c.name == name })
	switch {
	case (u.s == nil || u.opening) && !strings.Contains(name, "/") && (i < 0 || !all[i].early()):
		remember()
		if args := strings.TrimSpace(args); name == "model" && args != "" && !u.opening { // none was the reason
			u.start.Run.Model = args
		} else {
			u.early = append(u.early, text)
		}
		if !u.opening {
			u.openSession()
		}
		return true
	case i >= 0 && all[i].needsSession() && u.s.ID() == "":
		remember()
		if len(u.waiting) > 0 { // it is being created
			u.early = append(u.early, text)
		} else {
			u.say(noSession)
		}
		return true
	case i >= 0:
		remember()
		all[i].run(u, strings.TrimSpace(args))
		return true
	case u.s != nil && slices.ContainsFunc(u.s.Commands(), func(c Expandable) bool { return c.Name == name }):
		return false
	case strings.Contains(name, "/"): // a path
		return false
	}
	u.say(fmt.Sprintf("there is no command /%s; /help lists them", term.EscapeStrict(name)))
	return true
}

func (u *ui) chooseMode(name string) {
	if name != "" {
		u.confirmMode(policy.Mode(name))
		return
	}
	var items []pick.Item
	for _, m := range policy.Modes() {
		items = append(items, pick.Item{Text: string(m), Detail: modeHelp(m)})
	}
	u.choose("permission mode", items, func(it pick.Item) { u.confirmMode(policy.Mode(it.Text)) })
}

// confirmMode sets the mode. It asks first if the agent will then ask about almost nothing.
func (u *ui) confirmMode(m policy.Mode) {
	if m != policy.ModeBypass || u.currentMode() == m {
		u.setMode(m)
		return
	}
	items := []pick.Item{{Text: "keep the mode " + string(u.currentMode())}, {Text: "use " + string(m), Detail: modeHelp(m), Value: "use"}}
	u.choose("allow everything without asking?", items, func(it pick.Item) {
		if it.Value == "use" {
			u.setMode(m)
		}
	})
}

// modeHelp says what a mode does.
func modeHelp(m policy.Mode) string {
	return map[policy.Mode]string{
		policy.ModeDefault:     "ask before changes and commands",
		policy.ModeAcceptEdits: "edit files in the project without asking",
		policy.ModePlan:        "only read, and make a plan",
		policy.ModeAuto:        "ask little, and deny dangerous commands and reads of secrets",
		policy.ModeDontAsk:     "deny what would be asked",
		policy.ModeSilent:      "deny what would be asked, and web pages",
		policy.ModeRestricted:  "deny what no rule allows, also reading",
		policy.ModeBypass:      "ask about nothing that the limits allow",
	}[m]
}

func (u *ui) setMode(m policy.Mode) { u.switchMode(m, nil) }

// switchMode sets the mode and then does something that needs it, or nothing if then is nil. Changes
// reach the session in their order; of those that wait for another one, only the last counts.
func (u *ui) switchMode(m policy.Mode, then func()) {
	if err := m.Check(); err != nil {
		u.fail("", err)
		return
	}
	u.mode = m // shown at once
	u.chosen = append(u.chosen, m)
	if last := len(u.modes) - 1; last > 0 && u.modes[last].then == nil {
		u.modes = u.modes[:last]
	}
	if u.modes = append(u.modes, modeChange{m, then}); len(u.modes) == 1 {
		u.sendMode()
	}
}

// modeChange is a mode that the user has chosen and the session does not have yet.
type modeChange struct {
	mode policy.Mode
	then func()
}

// sendMode gives the session the first of the modes.
func (u *ui) sendMode() {
	next := u.modes[0]
	s := u.s
	u.later(func(ctx context.Context) func() {
		err := s.SetMode(ctx, next.mode)
		return func() {
			u.modes = u.modes[1:]
			switch last := len(u.modes) == 0; {
			case err != nil:
				u.fail("mode "+string(next.mode), err)
				if last {
					u.mode = ""
				}
			default:
				if next.then != nil {
					next.then()
				}
				if last && u.look.Plain { // without a status line
					u.say("the mode is " + string(next.mode))
				}
			}
			if len(u.modes) > 0 {
				u.sendMode()
			}
			u.sendWaiting()
		}
	})
}

// cycle are the modes of shift-tab.
var cycle = []policy.Mode{policy.ModeDefault, policy.ModeAcceptEdits, policy.ModePlan}

func (u *ui) nextMode() {
	if u.s == nil || u.opening {
		return
	}
	at := slices.Index(cycle, u.currentMode())
	u.setMode(cycle[(at+1)%len(cycle)])
}

func (u *ui) plan(prompt string) {
	u.switchMode(policy.ModePlan, func() {
		if prompt != "" {
			u.send(prompt)
		}
	})
}

func (u *ui) review(what string) {
	u.send(fmt.Sprintf(reviewPrompt, cmp.Or(what, "the changes that are not committed yet (git diff HEAD and new files)")))
}

func (u *ui) chooseModel(name string) {
	if name != "" {
		u.setModel(name)
		return
	}
	u.later(func(ctx context.Context) func() {
		list, err := u.s.Models(ctx)
		return func() {
			if err != nil {
				u.fail("models", err)
				return
			}
			u.choose("model", list, func(it pick.Item) { u.setModel(it.Text) })
		}
	})
}

func (u *ui) setModel(name string) {
	u.s.SetModel(name)
	u.model = name
	u.note("your next message goes to " + name)
}

func (u *ui) rename(title string) {
	if title == "" {
		u.say("usage: /rename TITLE")
		return
	}
	u.later(func(ctx context.Context) func() {
		err := u.s.Rename(ctx, title)
		return func() {
			if err != nil {
				u.fail("rename", err)
				return
			}
			u.note("the session is called " + title)
		}
	})
}

// compact compacts the session. Messages wait until it has ended, because it has the session to itself.
func (u *ui) compact(string) {
	if u.conv.State().Working {
		u.say("interrupt the agent first")
		return
	}
	id := u.s.ID()
	call := append([]string{"sessions", "compact", id}, u.s.Flags("model", "base-url", "settings", "no-hooks")...)
	u.say("compacting …")
	u.compacting = true
	u.later(func(ctx context.Context) func() {
		out, err := u.cli(ctx, call...)
		return func() {
			u.tip, u.compacting = "", false
			if err != nil {
				u.fail("compact", err)
			} else {
				u.note(strings.NewReplacer("compacted session "+id+": ", "", " in session "+id, "").Replace(strings.TrimSpace(out)))
			}
			u.sendWaiting()
		}
	})
}

// export shows the session, or writes it to a file whose name says the format if none is given.
func (u *ui) export(args string) {
	format, file, _ := strings.Cut(args, " ")
	file = strings.TrimSpace(file)
	if end := filepath.Ext(format); end != "" {
		format, file = cmp.Or(map[string]string{".md": "markdown", ".html": "html", ".htm": "html", ".jsonl": "jsonl"}[end], "text"), args
	}
	call := []string{"sessions", "export", u.s.ID(), "--format", cmp.Or(format, "markdown")}
	if file == "" {
		u.show("export", call)
		return
	}
	u.later(func(ctx context.Context) func() {
		_, err := u.cli(ctx, append(call, "--output", file)...)
		return func() {
			if err != nil {
				u.fail("export", err)
				return
			}
			u.note("written to " + file)
		}
	})
}

func (u *ui) stop(agent string) {
	if agent != "" {
		u.stopAgent(agent)
		return
	}
	u.try("stop", func(ctx context.Context) error { return u.s.Interrupt(ctx) })
}

// clear begins a new session.
func (u *ui) clear(string) {
	u.join(false, func(context.Context) (string, error) { return "", nil }, nil)
}

func (u *ui) fork(string) { u.forkAt("", nil) }

// forkAt continues in a fork that ends after an item, or has everything. Then it calls then, if there is one.
func (u *ui) forkAt(item string, then func()) {
	u.join(true, func(ctx context.Context) (string, error) {
		made, err := u.s.Fork(ctx, api.Fork{At: item})
		if err != nil {
			return "", err
		}
		return made.ID, nil
	}, then)
}

// pluginsCommand returns the command that lists the plugins of the conversation.
func (u *ui) pluginsCommand() []string {
	call := []string{"plugins"}
	for _, dir := range u.start.Run.PluginDir {
		call = append(call, "--plugin-dir", dir)
	}
	return call
}
