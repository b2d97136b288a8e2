// Package sessions is `holdfast sessions`: list, read, change and check sessions.
package sessions

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command makes `holdfast sessions`.
func Command(p *command.Program) *command.Command {
	return p.Group("sessions", "List, read, change and check sessions.",
		p.Command(&listCmd{}, "list", "List the sessions of this project, newest first.", "ls"),
		p.Command(&searchCmd{}, "search", "Find words in what was said in the sessions of this project.", "find"),
		p.Command(&showCmd{}, "show", "Print a session as people read it, or its records."),
		p.Command(&renameCmd{}, "rename", "Give a session a title."),
		p.Command(&tagCmd{}, "tag", "Give a session a tag; an empty one clears it."),
		p.Command(&forkCmd{}, "fork", "Branch off a session; nothing is copied."),
		p.Command(&rewindCmd{}, "rewind", "Take a session's files and transcript back to an earlier point; says first what it will change."),
		p.Command(&deleteCmd{}, "delete", "Delete a session; what forks of it need stays.", "rm"),
		p.Command(&pruneCmd{}, "prune", "Put old sessions into the trash, or delete what is in it."),
		p.Command(&restoreCmd{}, "restore", "Take a session out of the trash."),
		p.Command(&exportCmd{}, "export", "Write a session as records, for people, or for another program."),
		p.Command(&importCmd{}, "import", "Import sessions of Claude Code, Codex, the Open Agent SDK, or exported ones."),
		p.Command(&verifyCmd{}, "verify", "Check logs record by record."),
		p.Command(&repairCmd{}, "repair", "Repair what a crash or a disk has damaged, without losing anything."),
		p.Command(&redactCmd{}, "redact", "Erase content of a session for good, and keep the proof of what was there."),
		p.Command(&compactCmd{}, "compact", "Have a model summarize the older part of a session; the log keeps what was there before."),
		p.Command(&relocateCmd{}, "relocate", "Say where the folder of a session is now."),
	)
}

// listCmd is `holdfast sessions list`.
type listCmd struct {
	All    bool
	CWD    string
	Space  string
	Tag    string
	Parent string
	Agents bool
	Trash  bool
	Limit  int
	Cursor string
	command.StoreFlags
	command.JSONFlag
}

func (c *listCmd) Declare(b *command.Builder) {
	b.Flag(&c.All, "all", "a", "", "Sessions of all projects.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The project of this folder; default the current one.")
	b.Flag(&c.Space, "workspace", "w", "SLUG", "Those of this workspace.")
	b.Flag(&c.Tag, "tag", "", "TAG", "Only sessions with this tag.")
	b.Flag(&c.Parent, "parent", "", "ID", "Only forks of this session.")
	b.Flag(&c.Agents, "agents", "", "", "Also those of sub-agents, which 'sessions show' of the one they work for names.")
	b.Flag(&c.Trash, "trash", "", "", "Sessions that are in the trash.")
	c.Limit = 50
	b.Flag(&c.Limit, "limit", "n", "N", "At most this many; default 50, 0 for all.")
	b.Flag(&c.Cursor, "cursor", "", "CURSOR", "Go on where a list ended.")
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
	b.Arg(&c.Words, "words", `All of them must be in one item; "a phrase" stands together, dep* is the beginning of a word.`)
	b.Flag(&c.Tool, "tool", "", "TOOL", "Only in uses and results of this tool.")
	b.Flag(&c.Role, "role", "", "ROLE", "Only in items of user, assistant or tool.", "user", "assistant", "tool")
	b.Flag(&c.Since, "since", "", "TIME", "Only from then on: 2026-11-20, 2026-11-20T15:04:05Z, or 2h, 7d ago.")
	b.Flag(&c.Until, "until", "", "TIME", "Only before then.")
	b.Flag(&c.Session, "session", "s", "SESSION", "Only in this session.")
	b.Flag(&c.All, "all", "a", "", "Sessions of all projects.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The project of this folder; default the current one.")
	b.Flag(&c.Trash, "trash", "", "", "In the trash, too.")
	c.Limit = 20
	b.Flag(&c.Limit, "limit", "n", "N", "At most this many; default 20.")
	b.Flag(&c.Cursor, "cursor", "", "CURSOR", "Go on where a search ended.")
	b.Flag(&c.PlainIndex, "plain-index", "", "", "Search an encrypted store, too: the index that is made for that holds its words as they are.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *searchCmd) Help() string {
	return `Case and accents do not count, and nothing but quotes and a * at the end of a word has a
meaning. Hits come newest first, with the number of the record:
holdfast sessions show --records SESSION shows what is around it.

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
	b.Flag(&c.Records, "records", "", "", "The records of the log instead of the transcript.")
	b.Flag(&c.Rewrites, "rewrites", "", "", "How the transcript was rewritten: compacted, cut, mended.")
	b.Flag(&c.Before, "before-compaction", "", "", "The transcript as it was before the newest compaction.")
	b.Flag(&c.Seq, "at", "", "N", "The transcript as it was right after record N.")
	b.Flag(&c.Tail, "tail", "n", "N", "Only the last N items or records.")
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
	b.Arg(&c.Title, "title", "The new title; an empty one clears it.")
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
	b.Arg(&c.Tag, "tag", "The tag; an empty one clears it.")
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
	b.Flag(&c.Point, "at", "", "POINT", "Keep the transcript up to this item (its id), turn (its id, or turn:3) or record (its number), as sessions rewind --to.")
	b.Flag(&c.Index, "up-to", "", "N", "Keep the transcript up to and with the item at index N, counted from 0.")
	b.Flag(&c.First, "first", "", "N", "Keep the first N items of the transcript.")
	b.Flag(&c.ID, "id", "", "ID", "The fork's id; default a new one.")
	b.Flag(&c.Name, "name", "", "TITLE", "The fork's title.")
	b.Flag(&c.WithGrants, "with-grants", "", "", "Begin with what was decided in the session: mode, grants, denials, changes of policy.")
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
	b.Flag(&c.Target, "to", "", "POINT", "Back to right after this record (its number), item (its id) or turn (its id, or turn:3; turn:0 is before the first).")
	b.Flag(&c.ToRewrite, "to-rewrite", "", "N", "Back to the transcript before the rewrite in record N, such as a compaction; last is the newest. sessions show --rewrites lists them.")
	b.Flag(&c.Files, "files", "", "", "Only the files, unless --transcript is given, too.")
	b.Flag(&c.Transcript, "transcript", "", "", "Only the transcript, unless --files is given, too.")
	b.Flag(&c.Fork, "fork", "", "", "Leave the transcript as it is, and go on from there in a new session.")
	b.Flag(&c.WithGrants, "with-grants", "", "", "With --fork: begin with what was decided in the session: mode, grants, denials, changes of policy.")
	b.Flag(&c.AddDirs, "add-dir", "", "FOLDER", "Another folder in which files are put back; may be repeated.")
	b.Flag(&c.Except, "except", "", "FILE", "Leave this file as it is; may be repeated.")
	b.Flag(&c.Force, "force", "", "", "Put back also files that others have changed since, and those that decide what other programs do.")
	b.Flag(&c.DryRun, "dry-run", "", "", "Only show what would be done.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
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
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
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
	b.Flag(&c.OlderThan, "older-than", "", "TIME", "What nobody changed for so long (30d, 12h), or since a day; default cleanupPeriodDays of your settings.")
	b.Flag(&c.All, "all", "a", "", "Sessions of all projects.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The project of this folder; default the current one.")
	b.Flag(&c.Tag, "tag", "", "TAG", "Only sessions with this tag.")
	b.Flag(&c.KeepTagged, "keep-tagged", "", "", "Keep sessions that have a tag.")
	b.Flag(&c.EmptyTrash, "empty-trash", "", "", "Delete for good what has been in the trash for so long.")
	b.Flag(&c.DryRun, "dry-run", "n", "", "Only say what would be done.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask before deleting.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *pruneCmd) Help() string {
	return `Old sessions go to the trash, where nothing is lost: sessions list --trash shows them, and
sessions restore brings one back. With --empty-trash, what has been there for long is
deleted. What runs, or waits for an answer, stays. Nothing is pruned by itself, unless
cleanupPeriodDays in your settings.json says so to the daemon.

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
	b.Flag(&c.Format, "format", "", "FORMAT", "jsonl: every record, one per line; text, markdown, html: the transcript for people; claude, codex, open-agent-sdk: for these programs.", "jsonl", "text", "markdown", "html", "claude", "codex", "open-agent-sdk")
	b.Flag(&c.Output, "output", "o", "FILE", "Write to this file, or into this folder under the name that the format wants; default standard output.")
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
	b.Flag(&c.Format, "format", "", "FORMAT", "What the files are: open-agent-sdk, claude, codex or jsonl, our own; auto looks at each of them.", "auto", "open-agent-sdk", "claude", "codex", "jsonl")
	b.Flag(&c.Project, "project", "", "FOLDER", "Count the sessions to this folder's project, wherever they ran.")
	b.Flag(&c.Trusted, "trusted", "", "", "Take in our own records (jsonl) also when they hold grants, a mode or answers that would count again.")
	b.Flag(&c.NoMask, "no-mask", "", "", "Keep keys and tokens that are in the files.")
	b.Flag(&c.DryRun, "dry-run", "", "", "Only read the files and say what would be imported.")
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
	b.Optional(&c.Session, "session", "An id, a title, or the beginning of an id.")
	b.Flag(&c.All, "all", "a", "", "Every session of the store.")
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
	b.Optional(&c.Session, "session", "An id, a title, or the beginning of an id.")
	b.Flag(&c.All, "all", "a", "", "Every session of the store.")
	b.Flag(&c.Salvage, "salvage", "", "", "Make a new session of what can be read of one that is damaged in the middle; the damaged one stays.")
	b.Flag(&c.DryRun, "dry-run", "n", "", "Only say what is wrong.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *repairCmd) Help() string {
	return `A damaged sessions.db is read page by page into a new one, and kept beside it: --all does that
first. Nobody may have it open. Then each session is looked at.

What a crash left behind the last record is put aside and told. What lists show is computed
anew from the log where it differs. A log that is damaged in the middle is never changed:
--salvage makes a new session of what can be read.

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
	b.Words(&c.Seq, "seq", "", "N[-M]", "Erase these records whole; sessions show --records has the numbers.")
	b.Flag(&c.Match, "match", "", "REGEXP", "Erase what this regular expression finds in any text of the session.")
	b.Flag(&c.Secrets, "secrets", "", "", "Mask keys, tokens and private keys.")
	b.Flag(&c.Reason, "reason", "", "TEXT", "Why; it is kept in the log.")
	b.Flag(&c.DryRun, "dry-run", "", "", "Only show what would be erased.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *redactCmd) Help() string {
	return `--match and --secrets look at all that shares or repeats the session's text: what it was forked
from, its forks, who works for its run, long outputs, the index. What is left is told with the reason.
When it is cut short, the same command does the rest. docs/erasure.md has the list of places.

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
	b.Flag(&c.Instructions, "instructions", "i", "TEXT", "What the summary is to keep, or to leave out.")
	b.Flag(&c.Model, "model", "m", "PROVIDER/MODEL", "Who summarises; default $HOLDFAST_MODEL, then model of the settings.")
	b.Flag(&c.BaseURL, "base-url", "", "URL", "The provider's address.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings; their compact block says by which steps.")
	b.Flag(&c.NoHooks, "no-hooks", "", "", "Run no hooks. Refused where the administrator's settings have some.")
	b.Flag(&c.Takeover, "takeover", "", "", "Take the session from a process that holds it.")
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
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Where its folder is now.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
	b.Require("cwd")
}
