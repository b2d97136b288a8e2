package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// grammar is the command line. Completion, the man page and the help are made
// from it; docs/cli.md is compared with it.
type grammar struct {
	Run        runCmd        `cmd:"" help:"Give an agent a prompt and run it until it is done."`
	Sessions   sessionsCmd   `cmd:"" help:"List, read, change and check sessions."`
	Store      storeCmd      `cmd:"" help:"Copy sessions from one store to another; make keys for encrypted ones."`
	Policy     policyCmd     `cmd:"" help:"Show, explain, test and check what may happen."`
	Hooks      hooksCmd      `cmd:"" help:"List, trust, test and replay hooks."`
	Context    contextCmd    `cmd:"" help:"List the instruction files that agents are given here."`
	Skills     skillsCmd     `cmd:"" help:"List skills and commands."`
	Trust      trustCmd      `cmd:"" help:"Trust the settings that a folder brings along."`
	MCP        mcpCmd        `cmd:"" name:"mcp" help:"Configure and approve MCP servers; and be one."`
	Sandbox    sandboxCmd    `cmd:"" help:"Run commands in the sandbox; check paths and commands against its settings."`
	Audit      auditCmd      `cmd:"" help:"Show, prove and export who let what happen."`
	Approvals  approvalsCmd  `cmd:"" help:"List and answer the questions that wait."`
	Workspace  workspaceCmd  `cmd:"" help:"Make, list, change and delete workspaces: containers for agents that come back."`
	Daemon     daemonCmd     `cmd:"" help:"Serve runs, questions and sessions to many clients, and a console."`
	Demo       demoCmd       `cmd:"" help:"Watch an agent mend a small project and survive a kill -9; needs no key."`
	Doctor     doctorCmd     `cmd:"" help:"Say what this machine and this setup offer."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Completion completionCmd `cmd:"" help:"Print a completion script for a shell."`
	Man        manCmd        `cmd:"" help:"Print the man page."`
}

// runGrammar is the part that `holdfast run` needs: it starts sooner without the rest.
type runGrammar struct {
	Run runCmd `cmd:"" help:"Give an agent a prompt and run it until it is done."`
}

type sessionsCmd struct {
	List     listCmd     `cmd:"" help:"List the sessions of this project, newest first." aliases:"ls"`
	Search   searchCmd   `cmd:"" help:"Find words in what was said in the sessions of this project." aliases:"find"`
	Show     showCmd     `cmd:"" help:"Print a session as people read it, or its records."`
	Rename   renameCmd   `cmd:"" help:"Give a session a title."`
	Tag      tagCmd      `cmd:"" help:"Give a session a tag; an empty one clears it."`
	Fork     forkCmd     `cmd:"" help:"Branch off a session; nothing is copied."`
	Rewind   rewindCmd   `cmd:"" help:"Take a session's files and transcript back to an earlier point; says first what it will change."`
	Delete   deleteCmd   `cmd:"" help:"Delete a session; what forks of it need stays." aliases:"rm"`
	Prune    pruneCmd    `cmd:"" help:"Put old sessions into the trash, or delete what lies there."`
	Restore  restoreCmd  `cmd:"" help:"Take a session out of the trash."`
	Export   exportCmd   `cmd:"" help:"Write a session as records, for people, or for another program."`
	Import   importCmd   `cmd:"" help:"Take in sessions of Claude Code, Codex, the Open Agent SDK, or exported ones."`
	Verify   verifyCmd   `cmd:"" help:"Check logs record by record."`
	Repair   repairCmd   `cmd:"" help:"Mend what a crash or a disk has left, without losing anything."`
	Redact   redactCmd   `cmd:"" help:"Erase content of a session for good, and keep the proof of what was there."`
	Compact  compactCmd  `cmd:"" help:"Have a model summarise the older part of a session; what was there before stays in the log."`
	Relocate relocateCmd `cmd:"" help:"Tell a session where its folder is now."`
}

// storeFlags are shared by every command that opens a store.
type storeFlags struct {
	Store string `placeholder:"URL" help:"Where sessions are kept: sqlite:PATH, file:FOLDER, postgres://…, mysql://…, redis://…, s3://BUCKET/PREFIX or memory:; encrypted+URL seals them. Default $$HOLDFAST_STORE, else sqlite:$$HOLDFAST_HOME/sessions.db."`
}

// jsonFlag is shared by every command that prints data.
type jsonFlag struct {
	JSON bool `name:"json" help:"Print JSON; errors too."`
}

const description = `Run agents that remember, ask first and cannot step outside.

  holdfast demo
  holdfast run "find out why the tests fail, and mend it"
  holdfast run -c "now write a changelog entry"
  holdfast sessions list`

// exited stops kong after it has printed help.
type exited int

// parser builds the command line's model.
func (p *Program) parser(commands any) (*kong.Kong, error) {
	return kong.New(commands,
		kong.Name("holdfast"),
		kong.Description(description),
		kong.Writers(p.Stdout, p.Stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ExplicitGroups(groups()),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100, NoExpandSubcommands: true}),
	)
}

// groups are the headings of the flags in the help.
func groups() []kong.Group {
	return []kong.Group{
		{Key: "model", Title: "Model:"},
		{Key: "session", Title: "Session:"},
		{Key: "work", Title: "Folders:"},
		{Key: "space", Title: "Workspace:"},
		{Key: "prompt", Title: "System prompt:"},
		{Key: "permission", Title: "Permission:"},
		{Key: "limit", Title: "Limits:"},
		{Key: "output", Title: "Output:"},
		{Key: "answer", Title: "Answer:"},
		{Key: "listen", Title: "Reach:"},
		{Key: "mcp", Title: "MCP servers:"},
	}
}

// parse returns the command that was asked for, or nil when help was printed.
func (p *Program) parse() (cmd command, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exited:
			cmd, err = nil, nil
		default:
			panic(r)
		}
	}()
	p.json = wantsJSON(p.Args)
	args, commands := p.Args, any(&grammar{})
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "run":
		commands = &runGrammar{}
	case args[0] == "inside":
		return &insideCmd{}, nil
	case args[0] == "help": // as git and go have it
		args = append(slices.Clone(args[1:]), "--help")
	}
	k, err := p.parser(commands)
	if err != nil {
		return nil, err
	}
	ctx, err := k.Parse(args)
	if err != nil {
		return nil, usage(parseMessage(err), parseHint(err))
	}
	if name := emptyName(ctx); name != "" {
		return nil, usage(name+" must not be empty", "give it a value, or leave the flag out")
	}
	target := ctx.Selected().Target
	if target.Kind() != reflect.Pointer {
		target = target.Addr()
	}
	cmd, ok := reflect.TypeAssert[command](target)
	if !ok {
		return nil, fmt.Errorf("%s cannot be run", ctx.Command())
	}
	return cmd, nil
}

// emptyName is a flag that was given the empty text where it names a session, an item or a
// workspace: a shell variable that is not set must not select another one.
func emptyName(ctx *kong.Context) string {
	for _, step := range ctx.Path {
		if f := step.Flag; f != nil && f.Target.Kind() == reflect.String && ctx.FlagValue(f) == "" {
			switch f.PlaceHolder {
			case "ID", "ID|NAME", "ITEM", "SESSION", "SLUG":
				return "--" + f.Name
			}
		}
	}
	return ""
}

// wantsJSON looks for the wish before the command line is understood, so that
// its errors are told in the form that was asked for.
func wantsJSON(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--json":
			return true
		}
	}
	return false
}

// parseMessage says what is wrong. That a flag may be left out is none of its values.
func parseMessage(err error) string {
	text := strings.TrimPrefix(err.Error(), "holdfast: ")
	if flag, rest, ok := strings.Cut(text, " must be one of "); ok && strings.HasPrefix(flag, "--") {
		values, got, _ := strings.Cut(rest, " but got ")
		var list []string
		for v := range strings.SplitSeq(values, ",") {
			if v != `""` {
				list = append(list, v)
			}
		}
		text = flag + " must be one of " + strings.Join(list, ", ") + " but got " + got
	}
	return text
}

func parseHint(err error) string {
	pe, ok := errors.AsType[*kong.ParseError](err)
	if !ok || pe.Context == nil || pe.Context.Selected() == nil {
		return "holdfast --help"
	}
	var words []string
	for n := pe.Context.Selected(); n != nil && n.Type == kong.CommandNode; n = n.Parent {
		if n.Parent != nil && n.Parent.DefaultCmd == n && !slices.Contains(pe.Context.Args, n.Name) {
			continue // nobody has named it
		}
		words = append([]string{n.Name}, words...)
	}
	if slices.Equal(words, []string{"run"}) && strings.HasPrefix(pe.Error(), "unexpected argument") {
		return `put the prompt in quotes: holdfast run "what to do"`
	}
	return "holdfast " + strings.Join(words, " ") + " --help"
}
