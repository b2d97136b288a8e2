package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/tool/skills"
)

func newSkillsCmd(p *Program) *cobra.Command {
	return p.group("skills", "List skills and commands.",
		p.command(&skillsListCmd{}, "list", "List skills and commands, and what is wrong with those that are not offered.", "ls"),
	)
}

type skillsListCmd struct {
	CWD string
	jsonFlag
}

func (c *skillsListCmd) declare(b *builder) {
	b.flag(&c.CWD, "cwd", "", "FOLDER", "Of a session in this folder; default the current one.")
	b.include(&c.jsonFlag)
}

type skillsDoc struct {
	Skills   []*skills.Skill  `json:"skills"`
	Shadowed []*skills.Skill  `json:"shadowed"`
	Problems []skills.Problem `json:"problems"`
	// Untrusted: those of the project do not count, as they are not trusted as they are now.
	Untrusted bool `json:"untrusted"`
}

func (c *skillsListCmd) run(_ context.Context, p *Program) error {
	s, err := p.settingsOf(c.CWD)
	if err != nil {
		return err
	}
	f, err := tools.FindSkills(p.environment(), s)
	if err != nil {
		return err
	}
	d := skillsDoc{
		Skills: append([]*skills.Skill{}, f.All.Skills...), Shadowed: append([]*skills.Skill{}, f.All.Shadowed...),
		Problems: append([]skills.Problem{}, f.All.Problems...), Untrusted: f.Untrusted(),
	}
	if c.JSON {
		return p.out.JSON(d, p.out.TTY)
	}
	for _, sk := range d.Skills {
		p.out.Line("%s  %s", term.Column(term.Escape(skillName(sk)), 24), term.Escape(sk.Description))
		p.out.Line("%s  %s", term.Column("", 24), p.out.Dim(term.Escape(skillFacts(sk, d.Untrusted))))
	}
	for _, sk := range d.Shadowed {
		p.err.Line("%s: %s counts in its place", term.Escape(sk.File), term.Escape(sk.Shadowed))
	}
	for _, pr := range d.Problems {
		p.warn("%v", pr)
		if pr.Hint != "" {
			p.err.Line("%s %s", p.err.Bold("hint:"), term.Escape(pr.Hint))
		}
	}
	if len(d.Skills)+len(d.Problems) == 0 {
		p.err.Line("there are no skills")
	}
	if d.Untrusted {
		p.warn("%s", f.Notice())
		p.err.Line("%s %s", p.err.Bold("hint:"), "holdfast trust")
	}
	return nil
}

// skillName is how a person calls it.
func skillName(sk *skills.Skill) string {
	name := sk.Name
	if sk.ForPeople {
		name = "/" + name
	}
	if sk.Hint != "" {
		name += " " + sk.Hint
	}
	return name
}

func skillFacts(sk *skills.Skill, untrusted bool) string {
	list := []string{string(sk.Source)}
	if untrusted && sk.Source == skills.Project {
		list[0] += ", not trusted"
	}
	if !sk.ForModel {
		list = append(list, "for people only")
	}
	if sk.Only != nil {
		list = append(list, "leaves only "+strings.Join(sk.Only, ", "))
	}
	return fmt.Sprintf("%s (%s)", sk.File, strings.Join(list, "; "))
}
