package cli

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// docs/texts.md lists the texts that users read.
func TestTexts(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# All texts

The texts that users read, for people who edit them: the help of every command, error messages with their hints, what
commands print, and the texts of the console. "…" is a part that is not constant. The descriptions of
[settings](reference/settings.md), of the [HTTP interface](reference/http.md) and of [WebSocket messages](reference/websocket.md) are on their
own pages.

## Help

`)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		var out bytes.Buffer
		p := command.Program{Stdout: &out, Stderr: &out}
		p.SetDefaults()
		printHelp(&p, c)
		fmt.Fprintf(&b, "```\n%s```\n\n", out.String())
		for _, s := range command.Subcommands(c) {
			visit(s)
		}
	}
	visit(allCommands())
	b.WriteString("## Errors and hints\n")
	messages := docgen.Messages(t)
	writeMessages(&b, messages, true)
	b.WriteString("\n## Printed by commands\n")
	writeMessages(&b, messages, false)
	b.WriteString("\n## Console\n")
	for _, file := range pageFiles(t) {
		if texts := pageTexts(t, file); len(texts) > 0 {
			fmt.Fprintf(&b, "\n### %s\n\n", path.Base(file))
			for _, s := range texts {
				fmt.Fprintf(&b, "- %s\n", docgen.Text(s))
			}
		}
	}
	docgen.Page(t, "texts.md", b.String())
}

func writeMessages(b *strings.Builder, messages []docgen.Message, errors bool) {
	pkg := ""
	for _, m := range messages {
		if m.Error != errors || strings.HasPrefix(m.Text, ".") || strings.HasPrefix(m.Text, "Ar ") || strings.HasPrefix(m.Text, "Fl ") { // or the man page
			continue
		}
		if m.Package != pkg {
			pkg = m.Package
			fmt.Fprintf(b, "\n### %s\n\n", pkg)
		}
		text := "- " + docgen.Text(docgen.Plain(m.Text))
		if m.Hint != "" {
			text += "<br>hint: " + docgen.Text(docgen.Plain(m.Hint))
		}
		b.WriteString(strings.Replace(text, "- <br>", "- ", 1) + "\n")
	}
}

// pageFiles are the files of the console and of other pages that contain texts.
func pageFiles(t *testing.T) []string {
	files, err := filepath.Glob(docgen.Path(t, "internal/console/web/*.js"))
	if err != nil || len(files) == 0 {
		t.Fatal("the console has no scripts", err)
	}
	return append(files, docgen.Path(t, "internal/console/web/index.html"), docgen.Path(t, "internal/htmlpage/page.go"))
}

var readable = regexp.MustCompile(`\pL{2,} \pL|^\p{Lu}\p{Ll}+$|\pL{2,}, |\pL: `)

// pageTexts returns the texts in the literals of a script or a page.
func pageTexts(t *testing.T, file string) (texts []string) {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := script{rest: string(source)}
	if path.Ext(file) == ".html" {
		s.markup(s.rest)
	} else {
		s.code(0)
	}
	for _, text := range s.texts {
		if text = strings.Join(strings.Fields(text), " "); readable.MatchString(text) && text != "use strict" && !strings.Contains(text, "const ") && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
