// Package approvals is `holdfast approvals`: list the questions of runs that wait for an
// answer, and answer them.
package approvals

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command makes `holdfast approvals`.
func Command(p *command.Program) *command.Command {
	return p.Group("approvals", "List and answer the questions that wait.",
		p.Command(&listCmd{}, "list", "List the questions that wait for an answer, oldest first.", "ls"),
		p.Command(&showCmd{}, "show", "Show a question with everything it would do."),
		p.Command(&allowCmd{}, "allow", "Answer yes; the run goes on, or can be resumed."),
		p.Command(&denyCmd{}, "deny", "Answer no."),
	)
}

// listCmd is `holdfast approvals list`.
type listCmd struct {
	Session string
	command.StoreFlags
	command.JSONFlag
}

func (c *listCmd) Declare(b *command.Builder) {
	b.Flag(&c.Session, "session", "", "SESSION", "Only of this session and its sub-agents.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// approvalArg names one question.
type approvalArg struct {
	ID string
}

func (c *approvalArg) Declare(b *command.Builder) {
	b.Arg(&c.ID, "id", "The question's id, or the beginning of it.")
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
	b.Flag(&c.ForSession, "for-session", "", "", "For the session, not only once.")
	b.Flag(&c.Scope, "scope", "", "RULE", "With --for-session or --always: what it covers, as a rule; default exactly this request.")
	b.Flag(&c.SaveTo, "always", "", "LAYER", "For the session, and for good: write the rule into your settings of the project (local), the project's (project) or your own (user).", "local", "project", "user")
	b.Flag(&c.Message, "message", "m", "TEXT", "Why; a no tells the model.")
	b.Flag(&c.By, "by", "", "NAME", "Who answers; default $USER.")
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
	b.Flag(&c.Mode, "mode", "", "MODE", "Of a plan: the mode in which it is carried out, default or acceptEdits.", "default", "acceptEdits")
	b.Flag(&c.Answer, "answer", "", "N=TEXT", "Of questions to you: the answer to the Nth, the label of an option or other words; may be repeated.")
	b.Flag(&c.Field, "field", "", "NAME=VALUE", "Of what an MCP server asks: a field and its value; may be repeated. What is not named is what is proposed.")
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
	b.Flag(&c.Stop, "stop", "", "", "End the turn as well.")
	b.Heading = ""
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}
