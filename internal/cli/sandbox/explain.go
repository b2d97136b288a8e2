package sandbox

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/internal/term"
)

type explainDoc struct {
	Line     string       `json:"line"`
	Static   bool         `json:"static"` // true if all commands that the command line runs are known
	Safe     bool         `json:"safe"`   // true if it certainly changes nothing
	Unclear  []string     `json:"unclear"`
	Commands []commandDoc `json:"commands"`
}

type commandDoc struct {
	Name    string    `json:"name"` // "" if it cannot be determined
	Program string    `json:"program"`
	Line    string    `json:"line"`
	Via     []string  `json:"via,omitempty"`
	Dir     string    `json:"dir,omitempty"`
	Assigns []string  `json:"assigns,omitempty"`
	Paths   []pathDoc `json:"paths,omitempty"`
	Safe    bool      `json:"safe,omitempty"`
	Wrapper bool      `json:"wrapper,omitempty"`
	Opaque  string    `json:"opaque,omitempty"`
}

type pathDoc struct {
	Path   string   `json:"path"` // "" if it cannot be determined
	Arg    string   `json:"arg"`
	Access []string `json:"access"`
	Source string   `json:"from"`
	Tree   bool     `json:"tree,omitempty"`
}

func (c *explainCmd) Run(_ context.Context, p *command.Program) error {
	cwd, err := p.FolderArg(c.CWD)
	if err != nil {
		return err
	}
	line := command.Line(c.Command)
	d := explain(line, shellparse.Parse(line, &shellparse.Options{Dir: cwd, Home: p.UserHome()}))
	if c.JSON {
		return p.Out.JSON(d, p.Out.TTY)
	}
	printExplanation(p, d)
	return nil
}

func explain(line string, r *shellparse.Reading) explainDoc {
	d := explainDoc{Line: line, Static: r.Static(), Safe: r.Safe(), Unclear: append([]string{}, r.Unclear...), Commands: []commandDoc{}}
	for i := range r.Commands {
		cmd := &r.Commands[i]
		doc := commandDoc{
			Name: cmd.Name, Program: cmd.Program, Line: cmd.Line, Via: cmd.Wrappers, Dir: cmd.Dir, Assigns: cmd.Assigns,
			Safe: cmd.Safe, Wrapper: cmd.Wrapper, Opaque: cmd.Opaque,
		}
		for _, path := range cmd.Paths {
			doc.Paths = append(doc.Paths, pathDoc{path.Path, path.Arg, accesses(path.Access), string(path.Source), path.Tree})
		}
		d.Commands = append(d.Commands, doc)
	}
	return d
}

func accesses(a shellparse.Access) []string {
	words := []string{}
	for _, w := range []struct {
		bit  shellparse.Access
		word string
	}{{shellparse.Read, "read"}, {shellparse.Write, "write"}, {shellparse.Exec, "exec"}} {
		if a&w.bit != 0 {
			words = append(words, w.word)
		}
	}
	return words
}

func printExplanation(p *command.Program, d explainDoc) {
	t := p.Out.Style
	for _, cmd := range d.Commands {
		notes := ""
		switch {
		case cmd.Wrapper:
			notes = "runs other commands"
		case cmd.Safe:
			notes = "changes nothing"
		case cmd.Opaque != "":
			notes = cmd.Opaque
		}
		p.Out.Line("%s  %s", t.Bold(term.Escape(term.OneLine(cmd.Line))), t.Dim(term.Escape(term.OneLine(notes))))
		if len(cmd.Via) > 0 {
			p.Out.Line("  via %s", term.Escape(term.OneLine(strings.Join(cmd.Via, ", "))))
		}
		if cmd.Dir != "" {
			p.Out.Line("  in %s", term.Escape(cmd.Dir))
		}
		if len(cmd.Assigns) > 0 {
			p.Out.Line("  sets %s", term.Escape(strings.Join(cmd.Assigns, ", ")))
		}
		for _, path := range cmd.Paths {
			what := path.Path
			if what == "" {
				what = "an unknown path (" + path.Arg + ")"
			}
			if path.Tree {
				what += " and everything below"
			}
			p.Out.Line("  %s %s %s", strings.Join(path.Access, "+"), term.Escape(term.OneLine(what)), t.Dim("("+path.Source+")"))
		}
	}
	for _, u := range d.Unclear {
		p.Out.Line("%s %s", t.Yellow("unclear:"), term.Escape(term.OneLine(u)))
	}
	switch {
	case len(d.Unclear) > 0:
		p.Out.Line("%s", t.Yellow("some commands it would run cannot be determined"))
	case d.Safe:
		p.Out.Line("%s", t.Green("it changes nothing"))
	}
}
