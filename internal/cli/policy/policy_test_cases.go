package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// tableCase is one case of a test file.
type tableCase struct {
	Name    string         `yaml:"name"`
	Tool    string         `yaml:"tool"`
	Input   map[string]any `yaml:"input"`
	Command *string        `yaml:"command"`
	Path    *string        `yaml:"path"`
	CWD     string         `yaml:"cwd"`
	Mode    string         `yaml:"mode"`
	Expect  policy.Effect  `yaml:"expect"`
	By      string         `yaml:"by"`

	file string
	line int
	call policycheck.Call
}

// tableResult is the result of a case, in JSON.
type tableResult struct {
	File       string        `json:"file"`
	Line       int           `json:"line"`
	Name       string        `json:"name"`
	OK         bool          `json:"ok"`
	Expected   policy.Effect `json:"want"`
	ExpectedBy string        `json:"want_by,omitempty"`
	policycheck.Explanation
}

func (c *testCmd) Run(ctx context.Context, p *command.Program) error {
	files, err := p.SettingsFiles(c.Files)
	if err != nil {
		return err
	}
	var cases []tableCase
	for i, f := range files {
		more, err := readTable(f, c.Files[i])
		if err != nil {
			return err
		}
		cases = append(cases, more...)
	}
	s, err := c.Load(p, len(c.Settings) > 0)
	if err != nil {
		return err
	}
	if !c.JSON {
		p.SettingsNotices(s)
	}
	j, failed := newJudge(p, s), 0
	for i := range cases {
		r, err := cases[i].run(ctx, j)
		if err != nil {
			return err
		}
		if !r.OK {
			failed++
		}
		if c.JSON {
			if err := p.Out.JSON(r, false); err != nil {
				return err
			}
		} else if !r.OK {
			printTableFailure(p, &r)
		}
	}
	if !c.JSON {
		p.Out.Line("%s: %d ok, %d failed", term.Count(len(cases), "case"), len(cases)-failed, failed)
	}
	if failed > 0 {
		return command.End(outcome.Failed)
	}
	return nil
}

// run runs a case.
func (c *tableCase) run(ctx context.Context, j *policycheck.Judge) (tableResult, error) {
	g, err := j.Guards(c.CWD, policy.Mode(c.Mode))
	if err != nil {
		return tableResult{}, err
	}
	d, requests, err := j.Decide(ctx, g, c.call)
	if err != nil {
		return tableResult{}, c.wrong("%v", err)
	}
	r := tableResult{
		File: c.file, Line: c.line, Name: c.Name, Expected: c.Expect, ExpectedBy: c.By, Explanation: policycheck.Explain(&d, requests, g.Cwd),
	}
	r.OK = d.Effect == c.Expect && (c.By == "" || d.By == c.By || d.Rule != nil && d.Rule.Rule == c.By)
	return r, nil
}

func printTableFailure(p *command.Program, r *tableResult) {
	t := p.Out.Style
	p.Out.Line("%s %s:%d  %s", t.Red("FAIL"), term.Escape(r.File), r.Line, term.Escape(term.OneLine(r.Name)))
	want := string(r.Expected)
	if r.ExpectedBy != "" {
		want += " by " + r.ExpectedBy
	}
	p.Out.Line("     %s  %s", t.Dim("want"), t.Green(term.Escape(want)))
	p.Out.Line("     %s   %s", t.Dim("got"), t.Red(term.Escape(term.OneLine(r.Explanation.String()))))
	printTrace(p.Out, &r.Explanation, "     ")
}

// readTable reads the cases of a file; name is the file's name on the command line.
func readTable(file, name string) ([]tableCase, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, outcome.Invalid(err.Error(), "")
	}
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, outcome.Invalid(name+": "+yamlError(err), "a test file is a list of cases: see holdfast policy test --help")
	}
	var list []ast.Node
	for _, doc := range f.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.NullType {
			continue
		}
		seq, ok := doc.Body.(*ast.SequenceNode)
		if !ok {
			return nil, outcome.Invalid(fmt.Sprintf("%s:%d: not a list of cases", name, doc.Body.GetToken().Position.Line), "see holdfast policy test --help")
		}
		list = append(list, seq.Values...)
	}
	if len(list) == 0 {
		return nil, outcome.Invalid(name+" contains no test cases", "a test file is a list of cases: see holdfast policy test --help")
	}
	cases := make([]tableCase, len(list))
	for i, n := range list {
		c := &cases[i]
		c.file, c.line = name, firstLine(n)
		if err := yaml.NodeToValue(n, c, yaml.Strict()); err != nil {
			return nil, c.wrong("%s", yamlError(err))
		}
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	return cases, nil
}

// firstLine returns the line where a node begins. For a mapping in block style it is the line of
// the first key, because the mapping's own token is its first colon.
func firstLine(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return m.Values[0].Key.GetToken().Position.Line
	}
	return n.GetToken().Position.Line
}

func yamlError(err error) string {
	first, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
	return first
}

func (c *tableCase) wrong(format string, args ...any) error {
	return outcome.Invalid(fmt.Sprintf("%s:%d: %s", c.file, c.line, fmt.Sprintf(format, args...)), "see holdfast policy test --help")
}

// check validates a case and builds its call.
func (c *tableCase) check() error {
	given := 0
	for _, on := range []bool{c.Input != nil, c.Command != nil, c.Path != nil} {
		if on {
			given++
		}
	}
	if c.Tool == "" && c.Command != nil {
		c.Tool = "Bash"
	}
	switch c.Expect {
	case policy.Allow, policy.Deny, policy.Ask:
	default:
		return c.wrong("expect is %q; want allow, deny or ask", string(c.Expect))
	}
	switch {
	case c.Tool == "":
		return c.wrong("tool is missing")
	case given > 1:
		return c.wrong("input, command and path cannot be used together")
	case given == 0 && policycheck.NeedsInput(c.Tool):
		return c.wrong("input, command or path is missing")
	case c.Command != nil && c.Tool != "Bash":
		return c.wrong("command can be used only with the tool Bash")
	case c.CWD != "" && strings.HasPrefix(c.CWD, "~"):
		return c.wrong("cwd %q must be absolute, or relative to the folder", c.CWD)
	}
	if c.Mode != "" {
		if err := policy.Mode(c.Mode).Check(); err != nil {
			return c.wrong("%v", err)
		}
	}
	c.call = policycheck.Call{Tool: c.Tool}
	var err error
	switch {
	case c.Command != nil:
		c.call.Input, err = policycheck.MakeInput(c.Tool, *c.Command)
	case c.Path != nil:
		c.call.Input, err = policycheck.MakeInput(c.Tool, *c.Path)
	case c.Input != nil:
		c.call.Input, err = json.Marshal(c.Input)
	}
	if err != nil {
		return c.wrong("%v", err)
	}
	if c.Name == "" {
		c.Name = c.Tool + " " + runtext.Headline(c.Tool, c.call.Input, filepath.Clean("/"+c.CWD))
	}
	return nil
}
