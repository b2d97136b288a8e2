// Package instructions reads what people write down for agents: AGENTS.md, CLAUDE.md and
// their kin. What they say is text for a model and nothing else: it never changes what is
// allowed.
//
//	/etc/holdfast/AGENTS.md            managed  ┐
//	~/.config/AGENTS.md                user     │ general
//	REPOSITORY/AGENTS.md ─@docs/x.md─► project  │    ▼
//	REPOSITORY/.claude/rules/*.md      project  │ particular
//	REPOSITORY/app/CLAUDE.md           project  │
//	REPOSITORY/app/CLAUDE.local.md     local    ┘
//	REPOSITORY/app/api/AGENTS.md       project: when a file there is read ([Set.Nested])
//
// Of one folder's files the first counts: AGENTS.md, CLAUDE.md, .claude/CLAUDE.md; a
// CLAUDE.local.md is read besides. A line may name another file with @path ([Load]).
//
//	set, err := instructions.Load(&instructions.Options{Cwd: cwd, Root: repository, User: home})
//	fmt.Println(set.Text())
package instructions

// Level says whose a file is, in Claude Code's words.
type Level string

// Whose files are.
const (
	Managed Level = "Managed" // the administrator's
	User    Level = "User"    // the person's own, for every project
	Project Level = "Project" // what the project's folder brings along
	Local   Level = "Local"   // the person's own, in the project's folder
)

// Reason says why a file was read, in Claude Code's words.
type Reason string

// Why files are read.
const (
	atStart   Reason = "session_start"
	byInclude Reason = "include"
	byNesting Reason = "nested_traversal" // a file below the current directory was read
	byGlob    Reason = "path_glob_match"  // a file that a rule is about was read
)

// The bounds.
const (
	maxFile  = 40 << 10  // bytes of one file; what is behind is left out, and that is said
	maxTotal = 128 << 10 // bytes of all
	maxFiles = 100
	maxDepth = 5 // of includes
)

// Mode says which of the folders from the repository's down to the current one count.
type Mode string

// The modes.
const (
	All     Mode = "all" // the default: all, the outermost first
	Nearest Mode = "nearest"
	None    Mode = "none" // only the administrator's files are read
)

// File is a file that was read.
type File struct {
	Path      string   `json:"path"` // absolute
	Memory    Level    `json:"memory"`
	Reason    Reason   `json:"reason"`
	Parent    string   `json:"parent,omitempty"`  // of an include: who names it
	Trigger   string   `json:"trigger,omitempty"` // which file was read, when that is why
	Globs     []string `json:"globs,omitempty"`   // of a rule
	Size      int      `json:"size"`              // bytes of the file
	Truncated bool     `json:"cut,omitempty"`     // not all of it is in Text
	Text      string   `json:"-"`
}

// Options say where files lie.
type Options struct {
	Cwd  string // where the session works: absolute, without links; required
	Root string // the repository's folder, or Cwd; default Cwd
	// Folders are others that the session works in: files of the project may include
	// what lies there, and nothing elsewhere.
	Folders []string
	Home    string // HOLDFAST_HOME, or ""
	User    string // the person's home folder, or ""
	Managed string // the folder of the administrator's files, or ""
	Mode    Mode   // default All
	// Excludes are globs of absolute paths that are left out, but not the administrator's.
	Excludes []string
	// Denied says why a file must not be read, or ""; nil denies nothing.
	Denied func(path string) string
	// Trusted says that the person trusts the project's folder. The files of any other are
	// read, too, and told to be information.
	Trusted bool
}
