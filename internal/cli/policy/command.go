// Package policy is `holdfast policy`: show, explain, test and check the permission policy.
package policy

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command returns `holdfast policy`.
func Command(p *command.Program) *command.Command {
	return p.Group("policy", "Show, explain, test and check the permission policy.",
		p.Command(&showCmd{}, "show", "Show the permission mode, all rules with their source, limits, and the decision chain of each tool."),
		p.Command(&explainCmd{}, "explain", "Explain the decision for one tool call."),
		p.Command(&testCmd{}, "test", "Run policy tests: tables of calls and expected decisions."),
		p.Command(&lintCmd{}, "lint", "Find invalid and ineffective rules and settings."),
		p.Command(&checkCmd{}, "check", "Decide many calls, one JSON object per line."),
		p.Command(&replayCmd{}, "replay", "Re-evaluate a past session under the current policy and list differences."),
		p.Command(&addCmd{effect: "allow"}, "allow", "Add an allow rule to your settings."),
		p.Command(&addCmd{effect: "ask"}, "ask", "Add an ask rule to your settings."),
		p.Command(&addCmd{effect: "deny"}, "deny", "Add a deny rule to your settings."),
		p.Command(&forgetCmd{}, "forget", "Remove a rule from your settings."),
		p.Command(&modeCmd{}, "mode", "Change the permission mode of a session, even while it is running."),
		p.Command(&grantsCmd{}, "grants", "List or revoke a session's grants."),
	)
}

// showCmd is `holdfast policy show`.
type showCmd struct {
	Tool []string
	flags.SettingsFlags
	command.JSONFlag
}

func (c *showCmd) Declare(b *command.Builder) {
	b.Optional(&c.Tool, "tool", "Show only the chains of these tools.")
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
	b.Optional(&c.Call, "call", "A tool and its input, as JSON or as the main field only; or a command after --.")
	b.Include(&c.SettingsFlags)
	b.Include(&c.JSONFlag)
}

func (c *explainCmd) Help() string {
	return `Prints the decision and the contribution of each link of the chain, in order. The exit code is 0
for allow, 3 for deny and 4 for ask. Nothing is run, and no file is opened.

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
	b.Arg(&c.Files, "files", "Test files, in YAML or JSON.")
	b.Include(&c.SettingsFlags)
	b.Include(&c.JSONFlag)
}

func (c *testCmd) Help() string {
	return `A test file is a list of calls and expected decisions:

  - {command: git status, expect: allow}
  - {command: git push --force, expect: deny, by: rules}
  - {tool: Edit, path: src/a.go, mode: acceptEdits, expect: allow}
  - {tool: WebFetch, input: {url: "https://example.org"}, mode: silent, expect: deny}

Each case can also have name, cwd and mode. The field by names a link of the chain, or the rule that decided.
The exit code is 1 if a decision differs. With --settings, only those files are used; without it,
the settings of the folder.`
}

// lintCmd is `holdfast policy lint`.
type lintCmd struct {
	Files []string
	CWD   string
	command.JSONFlag
}

func (c *lintCmd) Declare(b *command.Builder) {
	b.Optional(&c.Files, "files", "Settings files to check one by one. Default: all settings that apply in this folder.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder whose settings are checked. Default: the current folder.")
	b.Include(&c.JSONFlag)
}

func (c *lintCmd) Help() string {
	return `Prints each problem with file, line and column. The exit code is 1 if an error makes the settings
unusable, and 0 if there are only warnings: rules that never match, shadow each other, or name an
unknown tool.

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
	b.Flag(&c.Batch, "batch", "", "FILE", "The calls, one JSON object per line: {id, tool, input, cwd, mode}. Use - for standard input.")
	c.SettingsHelp = "Use only these settings, as a file or JSON, without other layers and without trust. Repeatable."
	b.Include(&c.SettingsFlags)
	b.Include(&c.JSONFlag)
	b.Require("batch")
}

func (c *checkCmd) Help() string {
	return `Prints one line for each input line: {id, verdict, reason, by, trace}. cwd and mode are optional.
An invalid line gets the decision deny, and the exit code is 2 at the end.

With --settings, only those settings are used: no other settings layer, and no trust. Without it,
the settings of the current folder are used.

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
	b.Flag(&c.All, "all", "a", "", "Show all calls, not only those with a different decision.")
	b.Flag(&c.PermissionMode, "permission-mode", "", "MODE", "Use this permission mode. Default: the mode that was in force at each call.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "Additional settings, as a file or JSON. They override the session's project and user settings. Repeatable.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *replayCmd) Help() string {
	return `Decides every tool call of the session again with the current settings of its folder and the grants
that were in force during its run. Nothing is run. A call that needed approval is compared as ask,
even if the call was allowed or denied in the end.`
}

// ruleFlags has a rule and the settings file that the rule is added to or removed from.
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
	return `The rule applies from the next run. See docs/reference/rules.md for the rule syntax.
If several rules match a call, deny wins over ask, and ask over allow. Prints the file and the
line; the rest of the file does not change.

  holdfast policy ` + c.effect + ` 'Bash(go test:*)'
  holdfast policy ` + c.effect + ` --user 'WebFetch(domain:go.dev)'`
}

// forgetCmd is `holdfast policy forget`.
type forgetCmd struct {
	ruleFlags
}

func (c *forgetCmd) Help() string {
	return `Removes the rule from the allow, ask and deny lists of a settings file. Without --local, --project
or --user, it must be in only one of the three files. To remove a session's grants, use
holdfast policy grants.

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
	b.Arg(&c.Mode, "mode", "The mode. holdfast run --help lists the modes.")
	b.Flag(&c.By, "by", "", "NAME", "The name recorded with the change. Default: $USER.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *modeCmd) Help() string {
	return `The change is recorded in the session's log. A running session uses the mode from its next
decision. A session resumed later keeps the mode, except plan and bypassPermissions.`
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
	b.Flag(&c.Revoke, "revoke", "", "GRANT", "Revoke this grant, by its id or a unique prefix of it.")
	b.Flag(&c.By, "by", "", "NAME", "The name recorded with the revocation. Default: $USER.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}
