package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// allCommands returns the root of the command tree with every command.
func allCommands() *cobra.Command {
	p := command.Program{}
	p.SetDefaults()
	return newRoot(&p, nil)
}

func TestReferenceCommands(t *testing.T) {
	var list, pages strings.Builder
	root := allCommands()
	list.WriteString("- [holdfast](#holdfast) without a command: Open a conversation in the terminal.\n")
	pages.WriteString(rootSection(t, root))
	for _, c := range command.Subcommands(root) {
		fmt.Fprintf(&list, "- [%s](#%s): %s\n", c.Name(), c.Name(), markdown(c.Short))
		pages.WriteString(commandSection(t, c, 2))
	}
	docgen.Parts(t, "reference/commands.md", map[string]string{"list": list.String(), "commands": pages.String()})
}

// rootSection returns the section of the program without a command, which opens a conversation.
func rootSection(t *testing.T, root *cobra.Command) string {
	return "\n## holdfast\n\n```\n" + root.Name() + " " + command.Arguments(root)[0][0] + " [flags]\n```\n\n" + markdown(root.Long) + "\n" + argumentsAndFlags(t, root)
}

// commandSection returns the section of a command and its subcommands.
func commandSection(t *testing.T, c *cobra.Command, level int) string {
	var b strings.Builder
	subcommands := command.Subcommands(c)
	use := strings.TrimSpace(c.UseLine())
	if len(subcommands) > 0 {
		use += " COMMAND"
	}
	fmt.Fprintf(&b, "\n%s %s\n\n```\n%s [flags]\n```\n\n%s\n", strings.Repeat("#", level), commandPath(c), use, markdown(c.Short))
	if c.Long != "" {
		b.WriteString("\n" + markdown(c.Long) + "\n")
	}
	b.WriteString(argumentsAndFlags(t, c))
	for _, s := range subcommands {
		b.WriteString(commandSection(t, s, level+1))
	}
	return strings.ReplaceAll(b.String(), "\n\n\n", "\n\n")
}

// argumentsAndFlags returns the tables of a command.
func argumentsAndFlags(t *testing.T, c *cobra.Command) string {
	var b strings.Builder
	var rows [][]string
	for _, a := range command.Arguments(c) {
		rows = append(rows, []string{docgen.Code(a[0]), docgen.Text(a[1])})
	}
	b.WriteString("\n" + docgen.Table([]string{"argument", "meaning"}, rows))
	rows = nil
	visibleFlags(c, func(f *pflag.Flag) {
		if strings.TrimSpace(f.Usage) == "" {
			t.Errorf("%s --%s has no help", commandPath(c), f.Name)
		}
		if f.Name == "help" {
			return
		}
		meaning := docgen.Text(f.Usage)
		if command.Required(c, f.Name) {
			meaning += " Required."
		}
		rows = append(rows, []string{docgen.Code(strings.TrimSpace(flagWords(f))), meaning})
	})
	b.WriteString("\n" + docgen.Table([]string{"flag", "meaning"}, rows))
	for _, group := range command.Exclusives(c) {
		group = slices.DeleteFunc(group, func(name string) bool { return c.Flags().Lookup(name).Hidden })
		if len(group) < 2 {
			continue
		}
		b.WriteString("\nUse at most one of `--" + strings.Join(group, "`, `--") + "`.\n")
	}
	return b.String()
}

// markdown returns a help text as Markdown: indented lines become code blocks.
func markdown(text string) string {
	var b strings.Builder
	inCode := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if code := strings.HasPrefix(line, "  "); line != "" && code != inCode {
			b.WriteString("```\n")
			inCode = code
		}
		if inCode {
			line = strings.TrimPrefix(line, "  ")
		} else {
			line = strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(line)
		}
		b.WriteString(line + "\n")
	}
	if inCode {
		b.WriteString("```\n")
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\n\n```\n\n", "\n```\n\n")
}

func TestReferenceExitCodes(t *testing.T) {
	var rows [][]string
	for _, o := range outcome.All() {
		rows = append(rows, []string{fmt.Sprint(o.Exit), docgen.Code(o.Code), docgen.Text(o.Meaning)})
	}
	docgen.Page(t, "reference/exit-codes.md", `# Exit codes

Every command ends with one of these exit codes. The code is also in JSON errors; [errors](errors.md) says what to do about each.

`+docgen.Table([]string{"exit", "code", "meaning"}, rows)+`
`+strings.ReplaceAll(`'workspace exec' and 'sandbox exec' end with the exit code of the command that they run.

## Denied calls in a run

A denied tool call does not end a run: the model receives the denial and continues. At the end, a denied call changes only the exit code 0:

| what happened in the run | exit |
|---|---|
| the policy or a hook denied a call, or no one answered an approval in time | 3 |
| people denied calls, at the terminal or with '--on-ask wait', and nothing else did | 0 |
| a call was denied, and a limit was reached or the run failed | 5, or the code of the failure |

In CI, use 'holdfast run --output-format json'. If a call was denied, also by a person, the result lists it in 'permission_denials'. If 'run' itself was not
allowed, 'permission_denials' is empty and 'code' is 'denied'.

Other commands use 3 for their own answers: 'policy explain', 'hooks test' and 'sandbox check' end with 3 if the answer is "deny". A command also ends with 3 if the
daemon rejects its token or scope.
`, "'", "`"))
}

func TestReferenceEnvironment(t *testing.T) {
	page := `# Environment variables

Flags override environment variables, and environment variables override [settings](settings.md). Telemetry reads the variables of
OpenTelemetry: see [telemetry](telemetry.md). The S3 store also reads the AWS variables: see [stores](../stores.md).
`
	groups, rows := []string{}, map[string][][]string{}
	for _, v := range environment {
		if rows[v.group] == nil {
			groups = append(groups, v.group)
		}
		var names []string
		for _, name := range v.names {
			names = append(names, docgen.Code(name))
		}
		rows[v.group] = append(rows[v.group], []string{strings.Join(names, ", "), docgen.Text(v.meaning)})
	}
	for _, g := range groups {
		page += "\n## " + g + "\n\n" + docgen.Table([]string{"variable", "meaning"}, rows[g])
	}
	docgen.Page(t, "reference/environment.md", page)
}
