package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func cliDoc(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The table of exit codes in the document is the one in the code.
func TestDocumentedExitCodes(t *testing.T) {
	_, table, ok := strings.Cut(cliDoc(t), "| exit | code | status | meaning |\n|---|---|---|---|\n")
	if !ok {
		t.Fatal("docs/reference/commands.md has no table of exit codes")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var want strings.Builder
	for _, o := range outcome.All() {
		fmt.Fprintf(&want, "| %d | `%s` | %d | %s |\n", o.Exit, o.Code, o.Status, o.Meaning)
	}
	if got := table + "\n"; got != want.String() {
		t.Errorf("docs/reference/commands.md has\n%s\nthe code has\n%s", got, want.String())
	}
}

// Every command, flag and variable is in the document, and it names no others.
func TestDocumentedFlags(t *testing.T) {
	p := command.Program{}
	p.SetDefaults()
	doc := cliDoc(t)
	known := map[string]bool{"--help": true}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if !strings.Contains(doc, commandPath(cmd)) {
			t.Errorf("docs/reference/commands.md does not have %s", commandPath(cmd))
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if known["--"+f.Name] = true; f.Hidden || f.Name == "help" {
				return
			}
			if !strings.Contains(doc, "`--"+f.Name) && !strings.Contains(doc, "--"+f.Name+" ") {
				t.Errorf("docs/reference/commands.md does not have --%s", f.Name)
			}
			if strings.TrimSpace(f.Usage) == "" {
				t.Errorf("--%s has no help", f.Name)
			}
		})
		for _, c := range command.Subcommands(cmd) {
			visit(c)
		}
	}
	visit(newRoot(&p, nil))
	for _, flag := range regexp.MustCompile("`[^`\n]*`").FindAllString(doc, -1) {
		for _, name := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(flag, -1) {
			if !known[name] {
				t.Errorf("docs/reference/commands.md has %s, which there is not", name)
			}
		}
	}
	for _, e := range environment {
		for name := range strings.SplitSeq(e[0], ", ") {
			if !strings.Contains(doc, "`"+name+"`") {
				t.Errorf("docs/reference/commands.md does not have %s", name)
			}
		}
	}
}
