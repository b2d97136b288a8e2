package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/agentdef"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/instructions"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/plugin"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/tool/skills"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// skillPlaces returns the locations of skills and commands. Later locations take precedence over
// earlier ones.
func skillPlaces(e *env.Env, s *settings.Settings) ([]skills.Location, error) {
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	var list []skills.Location
	add := func(source skills.Source, root, dir string, commands bool) {
		list = append(list, skills.Location{Dir: dir, Source: source, Root: root, Commands: commands})
	}
	if user := e.UserHome(); user != "" {
		add(skills.User, "", filepath.Join(user, ".claude", "commands"), true)
		for _, dir := range []string{".config/agents/skills", ".agents/skills", ".claude/skills"} {
			add(skills.User, "", filepath.Join(user, filepath.FromSlash(dir)), false)
		}
	}
	add(skills.User, "", filepath.Join(home, "commands"), true)
	add(skills.User, "", filepath.Join(home, "skills"), false)
	usersFolder := func(dir string) bool { // the user's home folder is not a project
		for _, p := range list {
			if p.Dir == dir {
				return true
			}
		}
		return false
	}
	for _, dir := range []string{".claude/commands", ".agents/skills", ".holdfast/skills", ".claude/skills"} {
		if dir := filepath.Join(s.Project, filepath.FromSlash(dir)); !usersFolder(dir) {
			add(skills.Project, s.Project, dir, strings.HasSuffix(dir, "commands"))
		}
	}
	for i := range slices.Backward(s.Plugins) {
		list = append(list, pluginPlaces(&s.Plugins[i])...)
	}
	return list, nil
}

// pluginPlaces returns the locations in a plugin.
func pluginPlaces(p *settings.Plugin) (list []skills.Location) {
	source := skills.User
	if p.FromFolder() {
		source = skills.Project
	}
	add := func(folders []plugin.Folder, commands bool) {
		for _, f := range folders {
			list = append(list, skills.Location{Dir: f.Dir, Only: f.Only, Source: source, Root: p.Root, Commands: commands, Plugin: &p.Plugin})
		}
	}
	add(p.Commands, true)
	add(p.Skills, false)
	return list
}

// SkillSet contains the skills of a session, including those that are not available.
type SkillSet struct {
	Set    *skills.Set // available skills
	denied *skills.Set // the skills that would be available if no rule denied them
	All    *skills.Set // all skills, including those of an untrusted folder
	digest string      // digest of the project's skills; "" if it has none
	trust  bool        // the project's skills are trusted in their current form
}

// FindSkills finds the skills of a project.
func FindSkills(e *env.Env, s *settings.Settings) (*SkillSet, error) {
	places, err := skillPlaces(e, s)
	if err != nil {
		return nil, err
	}
	f := &SkillSet{All: skills.Discover(places)}
	f.Set = f.All
	if f.digest = f.All.Digest(places, skills.Project); f.digest == "" {
		return f, nil
	}
	trusted, err := s.TrustedTexts()
	if err != nil {
		return nil, err
	}
	if f.trust = trusted.Skills == f.digest; f.trust {
		return f, nil
	}
	var withoutProject []skills.Location
	for _, at := range places {
		if at.Source != skills.Project {
			withoutProject = append(withoutProject, at)
		}
	}
	f.Set = skills.Discover(withoutProject)
	return f, nil
}

// Untrusted reports whether the project has skills that are not trusted in their current form.
func (f *SkillSet) Untrusted() bool { return f.digest != "" && !f.trust }

// Notice returns a notice about the project's skills that are not available, or "".
func (f *SkillSet) Notice() string {
	if !f.Untrusted() {
		return ""
	}
	n := len(f.All.Problems)
	for _, sk := range f.All.Skills {
		if sk.Source == skills.Project {
			n++
		}
	}
	return term.Count(n, "skill") + " of this folder (commands included) ignored: they changed or are not trusted"
}

// skillsKit provides skills to the model.
func (b *Toolbox) skillsKit() ([]tool.Tool, error) {
	if b.env == nil || b.settings == nil {
		return nil, nil
	}
	found, err := FindSkills(b.env, b.settings)
	if err != nil {
		return nil, err
	}
	deny := func(sk *skills.Skill) bool { return b.whySkillDenied(sk.Name) != "" }
	found.denied = found.Set.Filter(func(sk *skills.Skill) bool { return !deny(sk) })
	found.Set = found.Set.Filter(deny)
	b.skillSet = found
	for _, sk := range found.Set.Skills {
		if sk.Dir == "" {
			continue
		}
		if plain, err := filepath.EvalSymlinks(sk.Dir); err == nil { // requests have no links
			sk.Dir = plain
		}
		b.folders.AddReadOnly(sk.Dir)
	}
	b.skills, err = skills.New(found.Set, &skills.Options{Enter: b.enterSkill})
	return b.skills.Tools(), err
}

// whySkillDenied returns why a rule denies a skill, or "".
func (b *Toolbox) whySkillDenied(name string) string {
	in := []byte(`{"skill":"` + name + `"}`) // letters, digits, - and _
	if v := b.Permissions.Rules.Evaluate(policy.Request{Tool: skills.ToolName, Resource: name, Input: in}); v.Effect == policy.Deny {
		return v.Reason
	}
	return ""
}

// enterSkill activates a skill that the model has called.
func (b *Toolbox) enterSkill(ctx context.Context, _ *tool.Call, sk *skills.Skill) error {
	a := agent.FromContext(ctx)
	if a == nil {
		return errNoAgent
	}
	if err := allowReading(ctx, a, sk); err != nil {
		return err
	}
	limit := sk.Limit()
	if limit == nil {
		return nil
	}
	_, err := a.Change(ctx, policy.Change{Limit: limit, By: limit.Name})
	return err
}

// allowReading allows the model to read a skill's folder without the approval that a mode requires. It
// changes nothing else.
func allowReading(ctx context.Context, a *agent.Agent, sk *skills.Skill) error {
	rule := sk.ReadRule()
	if rule == "" {
		return nil
	}
	for _, g := range a.Guards().Grants() {
		if g.Scope == rule && g.Weak {
			return nil
		}
	}
	by := "skill " + sk.Name
	g := policy.Grant{Effect: policy.Allow, Tool: "Read", Operation: policy.OpRead, Scope: rule, Weak: true, By: by}
	_, err := a.Change(ctx, policy.Change{Grant: &g, By: by})
	return err
}

// Expand implements [agent.Options].Expand.
func (b *Toolbox) Expand(ctx context.Context, prompt string) (*agent.Expansion, error) {
	if b.skillSet == nil {
		return nil, nil
	}
	sk, text, err := b.skillSet.Set.Expand(prompt)
	if err != nil {
		return nil, outcome.Invalid(err.Error(), "holdfast skills list")
	}
	name, args, ok := skills.Command(prompt)
	if sk == nil {
		if ok && !b.skillSet.trust {
			if other, found := b.skillSet.All.UserSkill(name); found && other.Source == skills.Project {
				return nil, outcome.Invalid("/"+name+" belongs to this folder, which is not trusted in its current form", "review "+other.File+", then run holdfast trust")
			}
		}
		return nil, b.noSkill(name, ok)
	}
	a, err := b.agentHandle.agent()
	if err != nil {
		return nil, err
	}
	if err := allowReading(ctx, a, sk); err != nil && !errors.Is(err, agent.ErrClosed) {
		return nil, err
	}
	text += b.mentioned(ctx, a, text)
	return &agent.Expansion{Command: sk.Name, Args: args, Source: string(sk.Source), Text: text, Limit: sk.Limit(), Model: b.modelOf(a, sk)}, nil
}

// modelOf returns the model that a skill requests for its turn; nil if it is the run's model. If
// the run cannot use that model, it also returns nil and shows a notice.
func (b *Toolbox) modelOf(a *agent.Agent, sk *skills.Skill) model.Model {
	if sk.Model == "" || b.sameModel(a, sk.Model) {
		return nil
	}
	c := b.workers
	if c == nil {
		c = &workers{box: b}
	}
	m, err := c.model(sk.Model)
	if err == nil && b.spec != nil && b.spec.Limits.MaxBudgetUSD > 0 && !m.Info().Priced() {
		err = m.Info().Unpriced()
	}
	current := a.Model().Info()
	switch {
	case err != nil:
		b.env.Warn("/%s requests model %s, which this run cannot use (%v); using %s", sk.Name, sk.Model, err, current.Model)
	case m.Info().String() != current.String():
		return m
	case sk.Model != "haiku" || c.smallModel() == "": // the name is an alias of a model that is not available
		b.env.Warn("/%s requests model %s, which %s does not offer here; using %s", sk.Name, sk.Model, current.Provider, current.Model)
	}
	return nil
}

// noSkill rejects a command that a rule denies by name. If a prompt looks like a misspelled
// command, it shows a warning; the prompt is then sent as it is.
func (b *Toolbox) noSkill(name string, command bool) error {
	if !command {
		return nil
	}
	if sk, ok := b.skillSet.denied.UserSkill(name); ok {
		return &outcome.Failure{Message: fmt.Sprintf("/%s is denied: %s", name, b.whySkillDenied(sk.Name)), Advice: "holdfast policy explain Skill " + sk.Name, Result: outcome.Denied}
	}
	for _, sk := range b.skillSet.Set.Skills {
		if sk.UserInvocable && spelling.Edits(sk.Name, name) <= min(2, len(name)/2) {
			b.env.Warn("unknown command /%s; the prompt is sent unchanged; did you mean /%s?", name, sk.Name)
			break
		}
	}
	return nil
}

// TrustTexts trusts a folder's texts for agents and lists them; nil if it has none.
func TrustTexts(e *env.Env, list *settings.Trust, s *settings.Settings) ([]string, error) {
	perms, err := s.Policy()
	if err != nil {
		return nil, err
	}
	set, err := InstructionsOf(e, s, s.Project, nil, false, &perms)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	f, err := FindSkills(e, s)
	if err != nil {
		return nil, err
	}
	var trusted []string
	for _, file := range set.Files() {
		if file.Memory == instructions.Project || file.Memory == instructions.Local {
			trusted = append(trusted, "instructions "+file.Path)
		}
	}
	for _, sk := range f.All.Skills {
		if sk.Source == skills.Project {
			trusted = append(trusted, "skill "+sk.Name)
		}
	}
	kinds := agentdef.Load(&agentdef.Options{Project: s.Project, Trusted: true, Plugins: s.FolderPlugins()})
	for _, d := range kinds.Definitions {
		trusted = append(trusted, "sub-agent "+d.Name)
	}
	if trusted == nil {
		return nil, nil
	}
	return trusted, list.AddTexts(s, f.digest, e.Now())
}
