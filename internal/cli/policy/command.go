// Package policy is `holdfast policy`: show, explain, test and check the permission policy.
package policy

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command makes `holdfast policy`.
func Command(p *command.Program) *command.Command {
	return p.Group("policy", "Show, explain, test and check the permission policy.",
		p.Command(&showCmd{}, "show", "Show the mode, the rules with where they were written, the limits, and each tool's chain."),
		p.Command(&explainCmd{}, "explain", "Say what would become of one tool call, and why."),
		p.Command(&testCmd{}, "test", "Run tables of calls and what is to become of them."),
		p.Command(&lintCmd{}, "lint", "Find rules and settings that cannot work."),
		p.Command(&checkCmd{}, "check", "Judge many calls, one JSON object per line."),
		p.Command(&replayCmd{}, "replay", "Judge a past session by today's policy and say what would differ."),
		p.Command(&addCmd{effect: "allow"}, "allow", "Write a rule that allows calls into your settings."),
		p.Command(&addCmd{effect: "ask"}, "ask", "Write a rule that has calls asked about into your settings."),
		p.Command(&addCmd{effect: "deny"}, "deny", "Write a rule that denies calls into your settings."),
		p.Command(&forgetCmd{}, "forget", "Take a rule out of your settings."),
		p.Command(&modeCmd{}, "mode", "Change the permission mode of a session, also while it runs."),
		p.Command(&grantsCmd{}, "grants", "List or revoke what people decided for a session."),
	)
}

// showCmd is `holdfast policy show`.
type showCmd struct {
	Tool []string
	flags.SettingsFlags
	command.JSONFlag
}

func (c *showCmd) Declare(b *command.Builder) {
	b.Optional(&c.Tool, "tool", "Only the chains of these tools.")
	b.Include(&c.SettingsFlags)
	b.Include(&c.JSONFlag)
}

// explainCmd is `holdfast policy explain`.
type explainCmd struct {
	Call []string
	flags.SettingsFlags
	command.JSONFlag
}

func (c *explainCmd) Declare(b *command.Builder) {
	b.Optional(&c.Call, "call", "A tool and its input, as JSON or its main field alone; or, behind --, a command.")
	b.Include(&c.SettingsFlags)
	b.Include(&c.JSONFlag)
}

func (c *explainCmd) Help() string {
	return `The answer is printed with what each link of the chain said, in order, and the exit
code is 0 for allow, 3 for deny and 4 for ask. Nothing is run, and no file is opened.

  holdfast policy explain -- git push --force
  holdfast policy explain Read ~/.ssh/id_ed25519
  holdfast policy explain Edit '{"file_path": "src/a.go"}' --permission-mode acceptEdits`
}

// testCmd is `holdfast policy test`.
type testCmd struct {
	Files []string
	flags.SettingsFlags
	command.JSONFlag
}

func (c *testCmd) Declare(b *command.Builder) {
	b.Arg(&c.Files, "files", "Tables of calls, in YAML or JSON.")
	b.Include(&c.SettingsFlags)
	b.Include(&c.JSONFlag)
}

func (c *testCmd) Help() string {
	return `A table is a list of calls with what is to become of them:

  - {command: git status, expect: allow}
  - {command: git push --force, expect: deny, by: rules}
  - {tool: Edit, path: src/a.go, mode: acceptEdits, expect: allow}
  - {tool: WebFetch, input: {url: "https://example.org"}, mode: silent, expect: deny}

name, cwd and mode may be added. by is a link of the chain, or the rule that decided.
The exit code is 1 when a call is judged otherwise. With --settings, those files alone
judge; without, the settings of the folder do.`
}

// lintCmd is `holdfast policy lint`.
type lintCmd struct {
	Files []string
	CWD   string
	command.JSONFlag
}

func (c *lintCmd) Declare(b *command.Builder) {
	b.Optional(&c.Files, "files", "Settings files, each for itself; default all that apply in this folder.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder whose settings are looked at; default the current one.")
	b.Include(&c.JSONFlag)
}

func (c *lintCmd) Help() string {
	return `Each problem is printed with file, line and column. The exit code is 1 when one of
them keeps the settings from being used, and 0 when there are only warnings: rules
that can never match, shadow each other or name a tool that there is not.

  holdfast policy lint
  holdfast policy lint .holdfast/settings.json`
}

// checkCmd is `holdfast policy check`.
type checkCmd struct {
	Batch string
	flags.SettingsFlags
	command.JSONFlag
}

func (c *checkCmd) Declare(b *command.Builder) {
	b.Flag(&c.Batch, "batch", "", "FILE", "The calls, one JSON object per line: {id, tool, input, cwd, mode}; - is standard input.")
	b.Include(&c.SettingsFlags)
	b.Include(&c.JSONFlag)
	b.Require("batch")
}

func (c *checkCmd) Help() string {
	return `For each line one is printed: {id, verdict, reason, by, trace}. cwd and mode may be
left out. A line that makes no sense is denied, and the exit code is then 2.

With --settings, those files alone judge: no other layer, and no trust. Without, the
settings of the current folder do.

  holdfast policy check --settings policy.json --batch calls.jsonl`
}

// replayCmd is `holdfast policy replay`.
type replayCmd struct {
	flags.SessionArg
	All            bool
	PermissionMode string
	Settings       []string
	command.StoreFlags
	command.JSONFlag
}

func (c *replayCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.All, "all", "a", "", "Every call, not only those that would be judged otherwise.")
	b.Flag(&c.PermissionMode, "permission-mode", "", "MODE", "Judge in this mode; default the one that was in force at each call.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the session's folder and the user; may be repeated.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *replayCmd) Help() string {
	return `Every tool call of the session is judged again by the settings of its folder as they
are now, with what people granted during its run; nothing is run. A call that a person
was asked about counts as asked, whatever the answer was.`
}

// ruleFlags name a rule and where it is written down.
type ruleFlags struct {
	Rule string
	flags.SettingsLayerFlags
	command.JSONFlag
}

func (f *ruleFlags) Declare(b *command.Builder) {
	b.Arg(&f.Rule, "rule", "A rule, such as 'Bash(go test:*)', 'Edit(src/**)' or WebFetch.")
	b.Include(&f.SettingsLayerFlags)
	b.Include(&f.JSONFlag)
}

// addCmd is `holdfast policy allow`, `ask` and `deny`.
type addCmd struct {
	effect string
	ruleFlags
}

func (c *addCmd) Help() string {
	return `The rule holds from the next run on, and docs/reference/permissions.md says how rules are written.
Of rules for one call, deny wins over ask, and ask over allow. The file and the line are
printed; everything else in the file stays as it is.

  holdfast policy ` + c.effect + ` 'Bash(go test:*)'
  holdfast policy ` + c.effect + ` --user 'WebFetch(domain:go.dev)'`
}

// forgetCmd is `holdfast policy forget`.
type forgetCmd struct {
	ruleFlags
}

func (c *forgetCmd) Help() string {
	return `The rule is taken out of the file wherever it stands there: among those that allow, ask
or deny. Without --local, --project or --user it is taken out of the one file of the three
that has it. What was decided for a session is another thing: holdfast policy grants.

  holdfast policy forget 'Bash(go test:*)'`
}

// modeCmd is `holdfast policy mode`.
type modeCmd struct {
	flags.SessionArg
	Mode string
	By   string
	command.StoreFlags
	command.JSONFlag
}

func (c *modeCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Arg(&c.Mode, "mode", "The mode; holdfast run --help lists them.")
	b.Flag(&c.By, "by", "", "NAME", "Who changes it; default $USER.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *modeCmd) Help() string {
	return `The change is a record of the session's log. A run that is under way follows from its
next decision on; a session that is resumed later goes on in the mode, unless that is
plan or bypassPermissions.`
}

// grantsCmd is `holdfast policy grants`.
type grantsCmd struct {
	flags.SessionArg
	Revoke string
	By     string
	command.StoreFlags
	command.JSONFlag
}

func (c *grantsCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.Revoke, "revoke", "", "GRANT", "Take this grant back, by its id or the beginning of it.")
	b.Flag(&c.By, "by", "", "NAME", "Who revokes; default $USER.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}
