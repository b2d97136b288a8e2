// Package skills finds skills (agentskills.io: a folder with a SKILL.md) and commands (a
// Markdown file), and offers them to models and users.
//
//	~/.claude/skills/commit/SKILL.md ─┐              ┌─► names and descriptions: the tool's description
//	PROJECT/.agents/skills/…          ├─ [Discover] ─┤   the body: when the model calls Skill
//	PROJECT/.claude/commands/x.md    ─┘              └─► /commit NOW: the body replaces the prompt ([Set.Expand])
//
// A skill is text for a model. The tools in its allowed-tools need no approval by the mode until
// the skill's turn ends ([policy.Limit]). Deny and ask rules still apply. Callers pass the skills
// of a project only if the project is trusted.
//
//	set := skills.Discover(places)
//	t, err := skills.New(set, &skills.Options{Enter: enter})
package skills

import "github.com/holdfast-dev/holdfast/internal/plugin"

// Source is the owner of a skill.
type Source string

// The sources of skills.
const (
	User    Source = "user"
	Project Source = "project"
)

// Location is a folder with skills or commands.
type Location struct {
	Dir      string // absolute
	Source   Source
	Commands bool // contains commands: NAME.md instead of NAME/SKILL.md
	// Root, if not "", is the folder that links must not lead out of.
	Root string
	// Only, if not "", is the only entry of Dir that is read.
	Only string
	// Plugin, if not nil, is the plugin of the folder: its name precedes the names of the skills.
	Plugin *plugin.Plugin
}

// Skill is a skill or a command.
type Skill struct {
	Name           string   `json:"name"`
	Description    string   `json:"description,omitempty"`
	WhenToUse      string   `json:"when_to_use,omitempty"`
	Hint           string   `json:"argument_hint,omitempty"` // description of its arguments, for the user
	Allow          []string `json:"allowed_tools,omitempty"` // rules for calls that need no approval while the skill is used
	Model          string   `json:"model,omitempty"`         // the model for which it was written
	Notes          []string `json:"notes,omitempty"`         // ignored keys of its front matter
	Aliases        []string `json:"aliases,omitempty"`       // for the user
	Source         Source   `json:"source"`
	Plugin         string   `json:"plugin,omitempty"` // the plugin that contains it
	Command        bool     `json:"command,omitempty"`
	File           string   `json:"file"`       // absolute
	Dir            string   `json:"-"`          // its folder; "" for a command
	Line           int      `json:"-"`          // of Allow, or 1
	ModelInvocable bool     `json:"for_model"`  // the model may call it
	UserInvocable  bool     `json:"for_people"` // the user can call it as /name
	Shadowed       string   `json:"shadowed_by,omitempty"`

	body string
	raw  []byte
}

// Problem is the reason why a skill is not offered.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1; 0 means the whole file
	Column int    `json:"column,omitempty"`
	Detail string `json:"what"`
	Hint   string `json:"hint,omitempty"`
	Source Source `json:"source"`
	Plugin string `json:"plugin,omitempty"`
}

// The limits.
const (
	maxName        = 64
	maxDescription = 1024
	maxBody        = 100 << 10 // bytes
	maxSkills      = 200       // skills of one location
	maxActive      = 4         // skills in one turn
	maxListed      = 15_000    // size in bytes of the names and descriptions in the tool's description
)
