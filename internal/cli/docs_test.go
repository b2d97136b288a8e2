package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func cliDoc(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The table of exit codes in the document is the one in the code.
func TestDocumentedExitCodes(t *testing.T) {
	_, table, ok := strings.Cut(cliDoc(t), "| exit | code | status | meaning |\n|---|---|---|---|\n")
	if !ok {
		t.Fatal("docs/cli.md has no table of exit codes")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var want strings.Builder
	for _, o := range outcome.All() {
		fmt.Fprintf(&want, "| %d | `%s` | %d | %s |\n", o.Exit, o.Code, o.Status, o.Meaning)
	}
	if got := table + "\n"; got != want.String() {
		t.Errorf("docs/cli.md has\n%s\nthe code has\n%s", got, want.String())
	}
}

// Every command, flag and variable is in the document, and it names no others.
func TestDocumentedFlags(t *testing.T) {
	p := Program{}
	p.fill()
	k, err := p.parser(&grammar{})
	if err != nil {
		t.Fatal(err)
	}
	doc := cliDoc(t)
	known := map[string]bool{"--help": true}
	_ = kong.Visit(k.Model.Node, func(n kong.Visitable, next kong.Next) error {
		switch n := n.(type) {
		case *kong.Flag:
			known["--"+n.Name] = true
			if !strings.Contains(doc, "`--"+n.Name) && !strings.Contains(doc, "--"+n.Name+" ") && n.Name != "help" {
				t.Errorf("docs/cli.md does not have --%s", n.Name)
			}
			if strings.TrimSpace(n.Help) == "" {
				t.Errorf("--%s has no help", n.Name)
			}
		case *kong.Node:
			if n.Type == kong.CommandNode && !strings.Contains(doc, commandPath(n)) {
				t.Errorf("docs/cli.md does not have %s", commandPath(n))
			}
		}
		return next(nil)
	})
	for _, flag := range regexp.MustCompile("`[^`\n]*`").FindAllString(doc, -1) {
		for _, name := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(flag, -1) {
			if !known[name] {
				t.Errorf("docs/cli.md has %s, which there is not", name)
			}
		}
	}
	for _, e := range environment {
		for name := range strings.SplitSeq(e[0], ", ") {
			if !strings.Contains(doc, "`"+name+"`") {
				t.Errorf("docs/cli.md does not have %s", name)
			}
		}
	}
}
