package instructions

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/tool/skills"
)

type skillsDoc struct {
	Skills   []*skills.Skill  `json:"skills"`
	Shadowed []*skills.Skill  `json:"shadowed"`
	Problems []skills.Problem `json:"problems"`
	// Untrusted means that the project's skills and commands are not used, because the user has not
	// trusted them in their current form.
	Untrusted bool `json:"untrusted"`
}

func (c *skillsListCmd) Run(_ context.Context, p *command.Program) error {
	s, err := p.FolderSettings(c.CWD)
	if err != nil {
		return err
	}
	f, err := tools.FindSkills(p.Environment(), s)
	if err != nil {
		return err
	}
	d := skillsDoc{
		Skills: append([]*skills.Skill{}, f.All.Skills...), Shadowed: append([]*skills.Skill{}, f.All.Shadowed...),
		Problems: append([]skills.Problem{}, f.All.Problems...), Untrusted: f.Untrusted(),
	}
	if c.JSON {
		return p.Out.JSON(d, p.Out.TTY)
	}
	for _, sk := range d.Skills {
		p.Out.Line("%s  %s", term.Column(term.Escape(skillName(sk)), 24), term.Escape(sk.Description))
		p.Out.Line("%s  %s", term.Column("", 24), p.Out.Dim(term.Escape(skillFacts(sk, d.Untrusted))))
	}
	for _, sk := range d.Skills {
		for _, note := range sk.Notes {
			p.Warn("%s: %s", sk.File, note)
		}
	}
	for _, sk := range d.Shadowed {
		p.Err.Line("%s: %s takes precedence", term.Escape(sk.File), term.Escape(sk.Shadowed))
	}
	for _, pr := range d.Problems {
		p.Warn("%v", pr)
		if pr.Hint != "" {
			p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(pr.Hint))
		}
	}
	if len(d.Skills)+len(d.Problems) == 0 {
		p.Err.Line("no skills")
	}
	if d.Untrusted {
		p.Warn("%s", f.Notice())
		p.Err.Line("%s %s", p.Err.Bold("hint:"), "trust them with holdfast trust")
	}
	return nil
}

// skillName returns the skill's name and its argument hint. The name begins with a slash if the
// user can call the skill.
func skillName(sk *skills.Skill) string {
	name := sk.Name
	if sk.UserInvocable {
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
	if !sk.ModelInvocable {
		list = append(list, "for users only")
	}
	if sk.Allow != nil {
		list = append(list, "allows "+strings.Join(sk.Allow, ", "))
	}
	if sk.Model != "" {
		list = append(list, "for the model "+sk.Model)
	}
	return fmt.Sprintf("%s (%s)", sk.File, strings.Join(list, "; "))
}
