// Package skills finds skills (agentskills.io: a folder with a SKILL.md) and commands (a
// Markdown file), and offers them to models and people.
//
//	~/.claude/skills/commit/SKILL.md ─┐              ┌─► names and descriptions: the tool's description
//	PROJECT/.agents/skills/…          ├─ [Discover] ─┤   the body: when the model calls Skill
//	PROJECT/.claude/commands/x.md    ─┘              └─► /commit NOW: the body in place of the prompt ([Set.Expand])
//
// What a skill says is text for a model. Its allowed-tools pass the question of the mode while it
// is in force, until its turn ends ([policy.Limit]): what anybody denies or asks about stays so. Of
// a project only trusted skills get here.
//
//	set := skills.Discover(places)
//	t, err := skills.New(set, &skills.Options{Enter: enter})
package skills

// Source says whose a skill is.
type Source string

// Whose skills are.
const (
	User    Source = "user"
	Project Source = "project"
)

// Location is a folder in which skills, or commands, lie.
type Location struct {
	Dir      string // absolute
	Source   Source
	Commands bool // it holds commands: NAME.md in place of NAME/SKILL.md
	// Root, when not "", is what links must not lead out of.
	Root string
}

// Skill is a skill or a command.
type Skill struct {
	Name           string   `json:"name"`
	Description    string   `json:"description,omitempty"`
	WhenToUse      string   `json:"when_to_use,omitempty"`
	Hint           string   `json:"argument_hint,omitempty"` // what its arguments are, for people
	Allow          []string `json:"allowed_tools,omitempty"` // rules of what may be called meanwhile without a question
	Model          string   `json:"model,omitempty"`         // that it was written for
	Notes          []string `json:"notes,omitempty"`         // what of its front matter has no effect
	Aliases        []string `json:"aliases,omitempty"`       // for people
	Source         Source   `json:"source"`
	Command        bool     `json:"command,omitempty"`
	File           string   `json:"file"`       // absolute
	Dir            string   `json:"-"`          // its folder; "" of a command
	Line           int      `json:"-"`          // of Allow, or 1
	ModelInvocable bool     `json:"for_model"`  // the model may call it
	UserInvocable  bool     `json:"for_people"` // /name works
	Shadowed       string   `json:"shadowed_by,omitempty"`

	body string
	raw  []byte
}

// Problem is why a skill is not offered.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1; 0: of the whole file
	Column int    `json:"column,omitempty"`
	Detail string `json:"what"`
	Hint   string `json:"hint,omitempty"`
	Source Source `json:"source"`
}

// The bounds.
const (
	maxName        = 64
	maxDescription = 1024
	maxBody        = 100 << 10 // bytes
	maxSkills      = 200       // of one place
	maxActive      = 4         // skills in one turn
	maxListed      = 15_000    // bytes of names and descriptions in the tool's description
)
