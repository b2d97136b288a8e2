// Package instructions loads instruction files: AGENTS.md, CLAUDE.md and similar. Their content is
// text for a model and nothing else: it never changes what is allowed.
//
//	/etc/holdfast/AGENTS.md            managed  ┐
//	~/.config/AGENTS.md                user     │ general
//	REPOSITORY/AGENTS.md ─@docs/x.md─► project  │    ▼
//	REPOSITORY/.claude/rules/*.md      project  │ particular
//	REPOSITORY/app/CLAUDE.md           project  │
//	REPOSITORY/app/CLAUDE.local.md     local    ┘
//	REPOSITORY/app/api/AGENTS.md       project: when a file there is read ([Set.Nested])
//
// In each folder only the first of these files is read: AGENTS.md, CLAUDE.md, .claude/CLAUDE.md;
// CLAUDE.local.md is read in addition. A line may include another file with @path ([Load]).
//
//	set, err := instructions.Load(&instructions.Options{Cwd: cwd, Root: repository, User: home})
//	fmt.Println(set.Text())
package instructions

// Level says who a file belongs to. Its values are Claude Code's words.
type Level string

// The levels.
const (
	Managed Level = "Managed" // the administrator's
	User    Level = "User"    // the user's, for every project
	Project Level = "Project" // part of the project's folder
	Local   Level = "Local"   // the user's, in the project's folder
)

// Reason says why a file was read. Its values are Claude Code's words.
type Reason string

// The reasons.
const (
	atStart   Reason = "session_start"
	byInclude Reason = "include"
	byNesting Reason = "nested_traversal" // a file below the current directory was read
	byGlob    Reason = "path_glob_match"  // a file that a rule applies to was read
)

// The limits.
const (
	maxFile  = 40 << 10  // maximum number of bytes of one file; the rest is cut, with a note
	maxTotal = 128 << 10 // bytes in total
	maxFiles = 100
	maxDepth = 5 // of includes
)

// Mode selects the folders whose files are read, from the repository's folder down to the current
// one.
type Mode string

// The modes.
const (
	All     Mode = "all" // default: all, outermost first
	Nearest Mode = "nearest"
	None    Mode = "none" // only the administrator's files are read
)

// File is a file that was read.
type File struct {
	Path      string   `json:"path"` // absolute
	Memory    Level    `json:"memory"`
	Reason    Reason   `json:"reason"`
	Parent    string   `json:"parent,omitempty"`  // the file that includes this one, if there is one
	Trigger   string   `json:"trigger,omitempty"` // the file that was read and caused this file to be read
	Globs     []string `json:"globs,omitempty"`   // of a rule
	Size      int      `json:"size"`              // bytes of the file
	Truncated bool     `json:"cut,omitempty"`     // Text is incomplete
	Text      string   `json:"-"`
}

// Options configures [Load].
type Options struct {
	Cwd  string // the working folder: absolute, without links; required
	Root string // the repository's folder; default Cwd
	// Folders are additional folders of the session. Project files may include files in Root and in
	// these folders. If Trusted is true, they may also include Markdown files in the user's
	// ~/.claude.
	Folders []string
	Home    string // HOLDFAST_HOME, or ""
	User    string // the user's home folder, or ""
	Managed string // the folder of the managed files, or ""
	Mode    Mode   // default All
	// Excludes are globs of absolute paths that are not read; managed files are never excluded.
	Excludes []string
	// Denied returns the reason why a file must not be read, or ""; if Denied is nil, every file
	// may be read.
	Denied func(path string) string
	// Trusted is true if the user trusts the project's folder. Files of an untrusted folder
	// are read too, and presented to the model as information, not instructions.
	Trusted bool
}
