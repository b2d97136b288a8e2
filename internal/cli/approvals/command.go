// Package approvals is `holdfast approvals`: list and answer pending approvals.
package approvals

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command returns `holdfast approvals`.
func Command(p *command.Program) *command.Command {
	return p.Group("approvals", "List and answer pending approvals.",
		p.Command(&listCmd{}, "list", "List pending approvals, oldest first.", "ls"),
		p.Command(&showCmd{}, "show", "Show an approval and everything the call would do."),
		p.Command(&allowCmd{}, "allow", "Allow the call. The run continues, or can be resumed."),
		p.Command(&denyCmd{}, "deny", "Deny the call."),
	)
}

// listCmd is `holdfast approvals list`.
type listCmd struct {
	Session string
	command.StoreFlags
	command.JSONFlag
}

func (c *listCmd) Declare(b *command.Builder) {
	b.Flag(&c.Session, "session", "", "SESSION", "Only approvals of this session and its sub-agents.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// approvalArg is the id of one approval.
type approvalArg struct {
	ID string
}

func (c *approvalArg) Declare(b *command.Builder) {
	b.Arg(&c.ID, "id", "The approval's id, or its first or last characters.")
}

// showCmd is `holdfast approvals show`.
type showCmd struct {
	approvalArg
	command.StoreFlags
	command.JSONFlag
}

func (c *showCmd) Declare(b *command.Builder) {
	b.Include(&c.approvalArg)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// answerFlags are shared by allow and deny.
type answerFlags struct {
	ForSession bool
	Scope      string
	SaveTo     string
	Message    string
	By         string
}

func (c *answerFlags) Declare(b *command.Builder) {
	b.Heading = "Answer"
	b.Flag(&c.ForSession, "for-session", "", "", "Decide for the rest of the session, not only for this call.")
	b.Flag(&c.Scope, "scope", "", "RULE", "With --for-session or --always: the rule to grant. Default: this exact request.")
	b.Flag(&c.SaveTo, "always", "", "LAYER", "Decide for the session and save the rule in a settings file: local (yours, this project), project (shared) or user (yours, all projects).", "local", "project", "user")
	b.Flag(&c.Message, "message", "m", "TEXT", "A message. If you deny the call, the model reads this message.")
	b.Flag(&c.By, "by", "", "NAME", "The name recorded with the answer. Default: $USER.")
}

// allowCmd is `holdfast approvals allow`.
type allowCmd struct {
	approvalArg
	answerFlags
	Mode   string
	Answer []string
	Field  []string
	command.StoreFlags
	command.JSONFlag
}

func (c *allowCmd) Declare(b *command.Builder) {
	b.Include(&c.approvalArg)
	b.Include(&c.answerFlags)
	b.Heading = "Answer"
	b.Flag(&c.Mode, "mode", "", "MODE", "For a plan: the mode for carrying it out, default or acceptEdits.", "default", "acceptEdits")
	b.Flag(&c.Answer, "answer", "", "N=TEXT", "For questions of the model: the answer to question N, an option's label or your own text. Repeatable.")
	b.Flag(&c.Field, "field", "", "NAME=VALUE", "For an MCP form: a field and its value. Repeatable. Fields you do not set keep the proposed value.")
	b.Heading = ""
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// denyCmd is `holdfast approvals deny`.
type denyCmd struct {
	approvalArg
	answerFlags
	Stop bool
	command.StoreFlags
	command.JSONFlag
}

func (c *denyCmd) Declare(b *command.Builder) {
	b.Include(&c.approvalArg)
	b.Include(&c.answerFlags)
	b.Heading = "Answer"
	b.Flag(&c.Stop, "stop", "", "", "Also end the turn.")
	b.Heading = ""
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}
