// Package sessions is `holdfast sessions`: list, read, change and check sessions.
package sessions

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command returns `holdfast sessions`.
func Command(p *command.Program) *command.Command {
	return p.Group("sessions", "List, read, change and check sessions.",
		p.Command(&listCmd{}, "list", "List the sessions of this project, newest first.", "ls"),
		p.Command(&searchCmd{}, "search", "Search the transcripts of this project's sessions.", "find"),
		p.Command(&showCmd{}, "show", "Print a session's transcript, or its records."),
		p.Command(&renameCmd{}, "rename", "Set a session's title."),
		p.Command(&tagCmd{}, "tag", "Set a session's tag."),
		p.Command(&forkCmd{}, "fork", "Fork a session. Nothing is copied."),
		p.Command(&rewindCmd{}, "rewind", "Rewind a session's files and transcript to an earlier point. Shows the changes first."),
		p.Command(&deleteCmd{}, "delete", "Delete a session. Records that its forks need are kept.", "rm"),
		p.Command(&pruneCmd{}, "prune", "Move old sessions to the trash, or delete sessions in the trash."),
		p.Command(&restoreCmd{}, "restore", "Restore a session from the trash."),
		p.Command(&exportCmd{}, "export", "Export a session as records, as a readable transcript, or for another program."),
		p.Command(&importCmd{}, "import", "Import sessions of Claude Code, Codex or the Open Agent SDK, or exported ones."),
		p.Command(&verifyCmd{}, "verify", "Verify session logs record by record."),
		p.Command(&repairCmd{}, "repair", "Repair sessions after a crash or disk error. Nothing readable is lost."),
		p.Command(&redactCmd{}, "redact", "Permanently erase content of a session. The hash chain stays verifiable."),
		p.Command(&compactCmd{}, "compact", "Summarize the older part of a session with a model. The log keeps the original items."),
		p.Command(&relocateCmd{}, "relocate", "Set the new location of a session's folder."),
	)
}

// listCmd is `holdfast sessions list`.
type listCmd struct {
	All       bool
	CWD       string
	Workspace string
	Tag       string
	Parent    string
	Agents    bool
	Trash     bool
	Limit     int
	Cursor    string
	command.StoreFlags
	command.JSONFlag
}

func (c *listCmd) Declare(b *command.Builder) {
	b.Flag(&c.All, "all", "a", "", "Include sessions of all projects.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Use the project of this folder. Default: the current folder.")
	b.Flag(&c.Workspace, "workspace", "w", "SLUG", "Only sessions of this workspace.")
	b.Flag(&c.Tag, "tag", "", "TAG", "Only sessions with this tag.")
	b.Flag(&c.Parent, "parent", "", "ID", "Only forks of this session.")
	b.Flag(&c.Agents, "agents", "", "", "Include sub-agents' sessions.")
	b.Flag(&c.Trash, "trash", "", "", "List the sessions in the trash.")
	c.Limit = 50
	b.Flag(&c.Limit, "limit", "n", "N", "Maximum number of sessions. 0 means no limit. Default: 50.")
	b.Flag(&c.Cursor, "cursor", "", "CURSOR", "Cursor from a previous page.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// searchCmd is `holdfast sessions search`.
type searchCmd struct {
	Words      []string
	Tool       string
	Role       string
	Since      string
	Until      string
	Session    string
	All        bool
	CWD        string
	Trash      bool
	Limit      int
	Cursor     string
	PlainIndex bool
	command.StoreFlags
	command.JSONFlag
}

func (c *searchCmd) Declare(b *command.Builder) {
	b.Arg(&c.Words, "words", `All words must occur in one item. Use "a phrase" for adjacent words and dep* for a prefix.`)
	b.Flag(&c.Tool, "tool", "", "TOOL", "Search only uses and results of this tool.")
	b.Flag(&c.Role, "role", "", "ROLE", "Search only items with this role: user, assistant or tool.", "user", "assistant", "tool")
	b.Flag(&c.Since, "since", "", "TIME", "Only items since this time: 2026-11-20, 2026-11-20T15:04:05Z, or an age such as 2h or 7d.")
	b.Flag(&c.Until, "until", "", "TIME", "Only items before this time.")
	b.Flag(&c.Session, "session", "s", "SESSION", "Search only this session.")
	b.Flag(&c.All, "all", "a", "", "Search sessions of all projects.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Use the project of this folder. Default: the current folder.")
	b.Flag(&c.Trash, "trash", "", "", "Also search the trash.")
	c.Limit = 20
	b.Flag(&c.Limit, "limit", "n", "N", "Maximum number of hits. Default: 20.")
	b.Flag(&c.Cursor, "cursor", "", "CURSOR", "Cursor from a previous page.")
	b.Flag(&c.PlainIndex, "plain-index", "", "", "Also search an encrypted store. The search index for it contains the words in plain text.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *searchCmd) Help() string {
	return `Search ignores case and accents. Only quotes and a trailing * are special. Hits are listed newest
first with their record number; holdfast sessions show --records SESSION shows the records around
a hit.

  holdfast sessions search "no such file" --tool Bash --since 7d
  holdfast sessions search --all 'deploy*' staging`
}

// showCmd is `holdfast sessions show`.
type showCmd struct {
	flags.SessionArg
	Records  bool
	Rewrites bool
	Before   bool
	Seq      int64
	Tail     int
	Full     bool
	command.StoreFlags
	command.JSONFlag
}

func (c *showCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.Records, "records", "", "", "Print the records of the log instead of the transcript.")
	b.Flag(&c.Rewrites, "rewrites", "", "", "List rewrites of the transcript: compactions, truncations and repairs.")
	b.Flag(&c.Before, "before-compaction", "", "", "Print the transcript as it was before the newest compaction.")
	b.Flag(&c.Seq, "at", "", "N", "Print the transcript as it was right after record N.")
	b.Flag(&c.Tail, "tail", "n", "N", "Print only the last N items or records.")
	b.Flag(&c.Full, "full", "", "", "Do not shorten long tool results.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
	b.Exclusive("records", "rewrites", "before-compaction", "at")
}

// renameCmd is `holdfast sessions rename`.
type renameCmd struct {
	flags.SessionArg
	Title string
	command.StoreFlags
	command.JSONFlag
}

func (c *renameCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Arg(&c.Title, "title", "The new title. An empty title clears it.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// tagCmd is `holdfast sessions tag`.
type tagCmd struct {
	flags.SessionArg
	Tag string
	command.StoreFlags
	command.JSONFlag
}

func (c *tagCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Arg(&c.Tag, "tag", "The tag. An empty tag clears it.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// forkCmd is `holdfast sessions fork`.
type forkCmd struct {
	flags.SessionArg
	Point string
	Index *int
	First *int
	ID    string
	Name  string

	WithGrants bool
	command.StoreFlags
	command.JSONFlag
}

func (c *forkCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.Point, "at", "", "POINT", "Keep the transcript up to this item (its id), turn (its id, or turn:3; turn:-1 is before the last turn) or record (its number), as for sessions rewind --to.")
	b.Flag(&c.Index, "up-to", "", "N", "Keep the transcript up to and including the item at index N, counted from 0.")
	b.Flag(&c.First, "first", "", "N", "Keep the first N items of the transcript.")
	b.Flag(&c.ID, "id", "", "ID", "The fork's id. Default: a new id.")
	b.Flag(&c.Name, "name", "", "TITLE", "The fork's title.")
	b.Flag(&c.WithGrants, "with-grants", "", "", "Keep the session's mode, grants, denials and policy changes.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
	b.Exclusive("at", "up-to", "first")
	b.Hide("up-to", "first")
}

// rewindCmd is `holdfast sessions rewind`.
type rewindCmd struct {
	flags.SessionArg
	api.Rewind
	AddDirs []string
	DryRun  bool
	Yes     bool
	command.StoreFlags
	command.JSONFlag
}

func (c *rewindCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.Target, "to", "", "POINT", "Rewind to the state right after this record (number), item (id) or turn (id, or turn:3). turn:0 is before the first turn, turn:-1 before the last one.")
	b.Flag(&c.ToRewrite, "to-rewrite", "", "N", "Rewind to the transcript before the rewrite in record N, such as a compaction; last is the newest rewrite. sessions show --rewrites lists them.")
	b.Flag(&c.Files, "files", "", "", "Rewind only the files, unless --transcript is also given.")
	b.Flag(&c.Transcript, "transcript", "", "", "Rewind only the transcript, unless --files is also given.")
	b.Flag(&c.Fork, "fork", "", "", "Keep this transcript and continue from there in a fork.")
	b.Flag(&c.WithGrants, "with-grants", "", "", "With --fork: keep the session's mode, grants, denials and policy changes.")
	b.Flag(&c.AddDirs, "add-dir", "", "FOLDER", "An additional folder in which files are restored. Repeatable.")
	b.Flag(&c.Except, "except", "", "FILE", "Do not restore this file. Repeatable.")
	b.Flag(&c.Force, "force", "", "", "Also restore files that were changed by others since then, and protected files.")
	b.Flag(&c.DryRun, "dry-run", "", "", "Only show the changes.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask for confirmation.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// deleteCmd is `holdfast sessions delete`.
type deleteCmd struct {
	flags.SessionArg
	Yes bool
	command.StoreFlags
	command.JSONFlag
}

func (c *deleteCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask for confirmation.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// pruneCmd is `holdfast sessions prune`.
type pruneCmd struct {
	OlderThan  string
	All        bool
	CWD        string
	Tag        string
	KeepTagged bool
	EmptyTrash bool
	DryRun     bool
	Yes        bool
	command.StoreFlags
	command.JSONFlag
}

func (c *pruneCmd) Declare(b *command.Builder) {
	b.Flag(&c.OlderThan, "older-than", "", "TIME", "Prune sessions not changed for this long (30d, 12h) or since this date. Default: cleanupPeriodDays in your settings.")
	b.Flag(&c.All, "all", "a", "", "Prune sessions of all projects.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Use the project of this folder. Default: the current folder.")
	b.Flag(&c.Tag, "tag", "", "TAG", "Only sessions with this tag.")
	b.Flag(&c.KeepTagged, "keep-tagged", "", "", "Keep sessions that have a tag.")
	b.Flag(&c.EmptyTrash, "empty-trash", "", "", "Permanently delete sessions that have been in the trash for this long.")
	b.Flag(&c.DryRun, "dry-run", "n", "", "Only show which sessions would be pruned.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask for confirmation before deleting.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *pruneCmd) Help() string {
	return `Old sessions move to the trash, where nothing is lost: sessions list --trash lists them, and
sessions restore restores one. With --empty-trash, sessions that have been in the trash for the time
of --older-than are deleted. Running sessions and sessions waiting for approval are kept. If your
settings contain cleanupPeriodDays, the daemon prunes once a day; otherwise nothing is pruned
automatically.

  holdfast sessions prune --older-than 90d --dry-run
  holdfast sessions prune --older-than 90d --all --keep-tagged
  holdfast sessions prune --older-than 30d --all --empty-trash`
}

// restoreCmd is `holdfast sessions restore`.
type restoreCmd struct {
	flags.SessionArg
	command.StoreFlags
	command.JSONFlag
}

func (c *restoreCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// exportCmd is `holdfast sessions export`.
type exportCmd struct {
	flags.SessionArg
	Format string
	Output string
	command.StoreFlags
	command.JSONFlag
}

func (c *exportCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	c.Format = "jsonl"
	b.Flag(&c.Format, "format", "", "FORMAT", "Output format. jsonl: every record, one per line; text, markdown or html: a readable transcript; claude, codex or open-agent-sdk: for these programs.", "jsonl", "text", "markdown", "html", "claude", "codex", "open-agent-sdk")
	b.Flag(&c.Output, "output", "o", "FILE", "Write to this file, or into this folder under the format's usual file name. Default: standard output.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// importCmd is `holdfast sessions import`.
type importCmd struct {
	Paths   []string
	Format  string
	Project string
	Trusted bool
	NoMask  bool
	DryRun  bool
	command.StoreFlags
	command.JSONFlag
}

func (c *importCmd) Declare(b *command.Builder) {
	b.Arg(&c.Paths, "path", "Files, or folders such as ~/.claude and ~/.codex/sessions.")
	c.Format = "auto"
	b.Flag(&c.Format, "format", "", "FORMAT", "The input format: open-agent-sdk, claude, codex or jsonl (Holdfast's own). auto detects it per file.", "auto", "open-agent-sdk", "claude", "codex", "jsonl")
	b.Flag(&c.Project, "project", "", "FOLDER", "Assign the imported sessions to this folder's project. Not for the format jsonl, whose sessions keep their project.")
	b.Flag(&c.Trusted, "trusted", "", "", "Import Holdfast records (jsonl) even if they contain grants, modes or answers that would take effect on resume.")
	b.Flag(&c.NoMask, "no-mask", "", "", "Do not mask API keys and tokens in the files.")
	b.Flag(&c.DryRun, "dry-run", "", "", "Only read the files and show what would be imported.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// verifyCmd is `holdfast sessions verify`.
type verifyCmd struct {
	Session string
	All     bool
	command.StoreFlags
	command.JSONFlag
}

func (c *verifyCmd) Declare(b *command.Builder) {
	b.Optional(&c.Session, "session", "A session: an id, its first or last characters, or a title.")
	b.Flag(&c.All, "all", "a", "", "Verify every session of the store.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// repairCmd is `holdfast sessions repair`.
type repairCmd struct {
	Session string
	All     bool
	Salvage bool
	DryRun  bool
	command.StoreFlags
	command.JSONFlag
}

func (c *repairCmd) Declare(b *command.Builder) {
	b.Optional(&c.Session, "session", "A session: an id, its first or last characters, or a title.")
	b.Flag(&c.All, "all", "a", "", "Repair every session of the store.")
	b.Flag(&c.Salvage, "salvage", "", "", "Copy the readable records of a damaged session to a new session. The damaged session is kept.")
	b.Flag(&c.DryRun, "dry-run", "n", "", "Only show what is wrong.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *repairCmd) Help() string {
	return `With --all, a damaged sessions.db is first copied page by page to a new file, and the damaged file
is kept. No other program may have it open. Then each session is checked.

An incomplete record at the end of a log is moved aside and reported. List data that differs from
the log is recomputed. A log that is damaged in the middle is never changed: --salvage copies its
readable records to a new session.

  holdfast sessions repair --all --dry-run
  holdfast sessions repair 01J3 --salvage`
}

// redactCmd is `holdfast sessions redact`.
type redactCmd struct {
	flags.SessionArg
	Seq     []string
	Match   string
	Secrets bool
	Reason  string
	DryRun  bool
	Yes     bool
	command.StoreFlags
	command.JSONFlag
}

func (c *redactCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Words(&c.Seq, "seq", "", "N[-M]", "Erase these records completely. sessions show --records prints the numbers.")
	b.Flag(&c.Match, "match", "", "REGEXP", "Erase all matches of this regular expression in the session's text.")
	b.Flag(&c.Secrets, "secrets", "", "", "Mask API keys, tokens and private keys.")
	b.Flag(&c.Reason, "reason", "", "TEXT", "The reason, which is kept in the log.")
	b.Flag(&c.DryRun, "dry-run", "", "", "Only show what would be erased.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask for confirmation.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *redactCmd) Help() string {
	return `--match and --secrets search every copy of the session's text: its parent, forks, sub-agents,
stored outputs and the search index. Text that remains is listed with the reason. If the command is
interrupted, run it again. The documentation page "Erase and mask" (docs/erasure.md) lists all
places.

  holdfast sessions redact --match 'rose ?bud' --dry-run SESSION
  holdfast sessions redact --seq 12-14 SESSION`
}

// compactCmd is `holdfast sessions compact`.
type compactCmd struct {
	flags.SessionArg
	Instructions string
	Model        string
	BaseURL      string
	Settings     []string
	NoHooks      bool
	Takeover     bool
	command.StoreFlags
	command.JSONFlag
}

func (c *compactCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.Instructions, "instructions", "i", "TEXT", "Instructions for the summary: what to keep or to omit.")
	b.Flag(&c.Model, "model", "m", "PROVIDER/MODEL", "The model that writes the summary. Default: $HOLDFAST_MODEL, then model in the settings.")
	b.Flag(&c.BaseURL, "base-url", "", "URL", "The provider's base URL.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "Additional settings. Their compact block selects the compaction steps.")
	b.Flag(&c.NoHooks, "no-hooks", "", "", "Run no hooks. Not allowed if the administrator's settings define hooks.")
	b.Flag(&c.Takeover, "takeover", "", "", "Take over a session that another process has open.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// relocateCmd is `holdfast sessions relocate`.
type relocateCmd struct {
	flags.SessionArg
	CWD string
	command.StoreFlags
	command.JSONFlag
}

func (c *relocateCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder's new path.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
	b.Require("cwd")
}
